"""Django's commands, as `manage.py` runs them: with an embedded PostgreSQL if DATABASE_URL is not set, and with a short
message for errors that an operator can fix. `--traceback` shows the whole error."""

import os
import sys
import time
from collections.abc import MutableMapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import django
from django.core.exceptions import ImproperlyConfigured
from django.core.management import ManagementUtility, call_command, get_commands
from django.db import OperationalError, ProgrammingError

from evaluator.cli.progress_lines import ProgressLines
from evaluator.core.private_files import keep_private
from evaluator.core.process import settle_streams
from leaderboard.platform import embedded
from leaderboard.platform.environment import Environment
from leaderboard.platform.http.collecting import look_later

ACCOUNT_COMMANDS = frozenset({"createsuperuser", "changepassword"})
"""Commands that work on the demo in a new checkout. All others require settings: a scheduled back_up without them would
save an empty demo, and report success."""
_HELP = frozenset({"-h", "--help", "help", "--version", "version"})
_NOT_PREPARED = frozenset({"42P01", "42703"})
"""PostgreSQL's codes for a table and a column that do not exist."""
_INTERRUPTED = 130
_LONG = frozenset({
    "back_up", "check_store", "collect_garbage", "find_causes", "migrate", "register_suites", "repair_store", "restore",
    "seal_again",
})  # fmt: skip
"""Commands that take minutes on a large site."""


def run(arguments: Sequence[str], environment: MutableMapping[str, str] = os.environ) -> int:
    """Run one command with the arguments after the program's name, and return the exit code. `environment` must be the
    process's own, from which Django's settings are read."""
    whole = "--traceback" in arguments
    settle_streams()
    keep_private(Environment(environment).data_dir())
    look_later()
    try:
        _prepare(arguments, environment=environment)
        with _lines(arguments):
            ManagementUtility([environment.get("PLANARENA_PROGRAM", "manage.py"), *arguments]).execute()
    except KeyboardInterrupt:
        return _INTERRUPTED
    except EOFError:
        return _fail("Cancelled: the input ended.")
    except ImproperlyConfigured as error:
        if whole:
            raise
        return _fail(str(error))
    except (OperationalError, ProgrammingError) as error:
        sentence = _sentence(error)
        if whole or sentence is None:
            raise
        return _fail(sentence)
    return 0


def _lines(arguments: Sequence[str]) -> AbstractContextManager[object]:
    """Progress lines of a long command, if there is no terminal. The demo has its own."""
    name, began = arguments[0] if arguments else "", time.monotonic()
    if name not in _LONG:
        return nullcontext()
    return ProgressLines(lambda: f"planarena manage {name}: {time.monotonic() - began:.0f} s", stream=sys.stderr)


def _fail(sentence: str) -> int:
    _say(sentence)
    return 1


def _say(sentence: str) -> None:
    sys.stderr.write(f"planarena: {sentence}\n")


def _prepare(arguments: Sequence[str], *, environment: MutableMapping[str, str]) -> None:
    """Complete the environment as far as this command needs it.

    Raises:
        ImproperlyConfigured: the command needs settings or a database, and there are none.
    """
    name = arguments[0] if arguments else "help"
    env = Environment(environment)
    if name in _HELP or _HELP & set(arguments[1:]):
        complete_settings(environment)
        return
    own_database = not env.text("DATABASE_URL")
    if own_database and not env.text("PLANARENA_SECRET_KEY") and not env.flag("PLANARENA_DEMO"):
        if name not in ACCOUNT_COMMANDS:
            _refuse(name, environment=environment)
            return
        environment["PLANARENA_DEMO"] = "1"
        _say(f"neither DATABASE_URL nor PLANARENA_SECRET_KEY is set: using the demo in {env.data_dir()}")
    if own_database:
        environment["DATABASE_URL"] = embedded.start(env.data_dir())
    if name in ACCOUNT_COMMANDS:
        _require_tables(data=env.data_dir() if own_database else None)


def _refuse(name: str, *, environment: MutableMapping[str, str]) -> None:
    """Refuse a command that requires settings. Unknown commands are left to Django.

    Raises:
        ImproperlyConfigured: the command exists.
    """
    complete_settings(environment)
    # Without the apps, only Django's own commands are known.
    django.setup()
    if name in get_commands():
        raise ImproperlyConfigured(
            f"{name} needs the settings of a site, and DATABASE_URL and PLANARENA_SECRET_KEY are not set. Load them "
            "(set -a; . ./arena.env; set +a), or set PLANARENA_DEMO=1 to run it for the demo on this machine."
        )


def complete_settings(environment: MutableMapping[str, str]) -> None:
    """Add settings that suffice to list and describe commands, without a database and without generating secrets."""
    if not environment.get("DATABASE_URL", "").strip():
        environment["DATABASE_URL"] = "postgresql://localhost/none"
    if not environment.get("PLANARENA_SECRET_KEY", "").strip():
        environment.update(
            {
                "PLANARENA_DEMO": "1",
                "PLANARENA_SECRET_KEY": "for help only",
                "PLANARENA_WEBHOOK_KEY": "for help only",
                "PLANARENA_SIGNING_KEY": "for help only and no key of any site",
            }
        )


def _require_tables(*, data: Path | None) -> None:
    """Create the tables of an empty database in the data folder. Other databases are migrated by the operator.

    Raises:
        ImproperlyConfigured: another database is empty.
    """
    django.setup()
    from django.db import connection
    from django.db.migrations.recorder import MigrationRecorder

    if MigrationRecorder(connection).applied_migrations():
        return
    if data is None:
        raise ImproperlyConfigured(
            "The database of DATABASE_URL has no tables yet. Run ./planarena manage migrate first."
        )
    _say(f"preparing the database in {data}")
    call_command("migrate", verbosity=0)


def _sentence(error: Exception) -> str | None:
    """A message for an operator about an error of the database; None if it is a defect."""
    if isinstance(error, OperationalError):
        return f"The database does not respond correctly: {error}".strip()
    if getattr(error.__cause__, "sqlstate", "") in _NOT_PREPARED:
        what = str(error).splitlines()[0]
        return f"The database does not match this release ({what}). Run ./planarena manage migrate first."
    return None
