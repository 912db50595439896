"""`manage.py migrate`: Django's command, made safe beside a running site."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import DEFAULT_DB_ALIAS, OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.errors import LockNotAvailable

from leaderboard.platform.database import direct_settings
from leaderboard.platform.environment import Environment

LOCK_SECONDS = "PLANARENA_MIGRATION_LOCK_SECONDS"
_POLL_SECONDS = 0.5


class Command(migrate.Command):
    """Django's command, with a lock timeout if PLANARENA_MIGRATION_LOCK_SECONDS is set."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Run Django's command.

        Raises:
            CommandError: a running process held a lock for too long. Completed migrations remain, and the command can
                be repeated.
        """
        connection = connections[options.get("database") or DEFAULT_DB_ALIAS]
        seconds = Environment(os.environ).integer(LOCK_SECONDS, default=0)
        if not seconds or options.get("check_unapplied") or options.get("plan"):
            super().handle(*args, **options)
            return
        with beside_a_running_site(connection, lock_seconds=seconds):
            super().handle(*args, **options)


@contextmanager
def beside_a_running_site(connection: BaseDatabaseWrapper, *, lock_seconds: int) -> Iterator[None]:
    """A context in which the connection bypasses a pooler, has a lock timeout, and excludes other migrations, which
    wait.

    A statement that alters a table waits for transactions that use it, and all later statements queue behind it.

    Args:
        connection: Django's; it is closed at the end.
        lock_seconds: maximum wait of a statement for a lock.

    Raises:
        CommandError: a statement timed out.
    """
    connection.close()
    before = connection.settings_dict
    direct = direct_settings()
    options = {name: value for name, value in direct["OPTIONS"].items() if name != "pool"}
    connection.settings_dict = {**direct, "OPTIONS": {**options, "options": f"-c lock_timeout={lock_seconds}s"}}
    try:
        _lock(connection)
        yield
    except OperationalError as error:
        if not isinstance(error.__cause__, LockNotAvailable):
            raise
        raise CommandError(
            f"A running process held a lock for longer than {lock_seconds} s ({LOCK_SECONDS}). Completed migrations "
            "remain; run the command again."
        ) from error
    finally:
        connection.close()
        connection.settings_dict = before


def _lock(connection: BaseDatabaseWrapper) -> None:
    """Wait until no other session migrates. The lock is released with the session.

    Polls, since a waiting statement is an open transaction, for which CREATE INDEX CONCURRENTLY would wait.
    """
    while True:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_lock(hashtext('planarena.migrate'))")
            (taken,) = cursor.fetchone()
        if taken:
            return
        time.sleep(_POLL_SECONDS)
