"""Dumping and restoring PostgreSQL by its own programs: those of the embedded server, or those on the PATH."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.db import connection

from leaderboard.platform.database import direct_settings
from leaderboard.platform.embedded import wheel


class BackupError(Exception):
    """A backup could not be made or restored. The message is for the operator."""


def dump(*, target: Path) -> None:
    """Write everything in the database, as it is at one moment, into one file, which keeps its mode if it is there.
    The site may go on meanwhile.

    Raises:
        BackupError: pg_dump is missing or failed; it says why.
    """
    _run("pg_dump", ["--format=custom", "--no-owner", "--no-privileges", f"--file={target}"])


def restore(*, source: Path) -> None:
    """Make everything in a dump again, all or nothing.

    Raises:
        BackupError: the database is not empty, or pg_restore is missing or failed; nothing was changed.
    """
    if tables := connection.introspection.table_names():
        raise BackupError(
            f"The database {_settings()['NAME']} holds {len(tables)} tables. Restore into an empty one: create it, and "
            "let DATABASE_URL name it."
        )
    # The dump replaces what this connection knows of the database.
    connection.close()
    arguments = ["--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction"]
    _run("pg_restore", [*arguments, f"--dbname={_settings()['NAME']}", str(source)])


def tables_in(dump: Path) -> int:
    """How many tables a dump has data of, as PostgreSQL's own program reads its list.

    Raises:
        BackupError: it cannot be read.
    """
    return _run("pg_restore", ["--list", str(dump)]).count(" TABLE DATA ")


def _run(program: str, arguments: Sequence[str]) -> str:
    found = _find(program)
    done = subprocess.run(  # noqa: S603 - a program of PostgreSQL, and no shell
        [found, *arguments], env={**os.environ, **_connection_variables()}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise BackupError(f"{program} failed: {done.stderr.strip()[-2000:]}")
    return done.stdout


def _find(program: str) -> str:
    """The program, of a release that is not older than the server: PostgreSQL refuses others."""
    bundled = sorted(Path(str(wheel().__file__)).parent.rglob(f"bin/{program}"))
    on_path = shutil.which(program)
    found = [str(path) for path in bundled] + ([on_path] if on_path else [])
    connection.ensure_connection()
    needed = connection.pg_version // 10_000  # type: ignore[attr-defined]  # only PostgreSQL's wrapper has it
    connection.close()
    for candidate in found:
        if _major(candidate) >= needed:
            return candidate
    raise BackupError(f"There is no {program} of PostgreSQL {needed} or newer. Install its client programs.")


def _major(program: str) -> int:
    told = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout  # noqa: S603
    version = re.search(r"(\d+)\.", told)
    return int(version[1]) if version else 0


def _connection_variables() -> Mapping[str, str]:
    """How to reach the database, as the programs read it: no password in a command line, which others could see."""
    settings = _settings()
    keys = {"PGHOST": "HOST", "PGPORT": "PORT", "PGUSER": "USER", "PGPASSWORD": "PASSWORD", "PGDATABASE": "NAME"}
    variables = {name: str(settings[key]) for name, key in keys.items() if settings.get(key)}
    for name, option in {"PGSSLMODE": "sslmode", "PGSSLROOTCERT": "sslrootcert", "PGHOST": "host"}.items():
        if value := settings.get("OPTIONS", {}).get(option):
            variables[name] = str(value)
    return variables


def _settings() -> dict[str, Any]:
    # Past a pooler: these programs need a session of their own.
    return direct_settings()
