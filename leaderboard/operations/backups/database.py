"""Dumping and restoring the database with PostgreSQL's client programs: those of the embedded server or on the PATH."""

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
    """Dump a consistent snapshot of the database into one file, while the site runs. An existing file keeps its mode.

    Raises:
        BackupError: pg_dump is missing or failed.
    """
    _run("pg_dump", ["--format=custom", "--no-owner", "--no-privileges", f"--file={target}"])


def restore(*, source: Path) -> None:
    """Restore a dump in a single transaction.

    Raises:
        BackupError: the database is not empty, or pg_restore is missing or failed; nothing was changed.
    """
    if tables := connection.introspection.table_names():
        raise BackupError(
            f"The database {_settings()['NAME']} holds {len(tables)} tables. Restore into an empty one: create it, and "
            "let DATABASE_URL name it."
        )
    # This connection's session state would be outdated.
    connection.close()
    arguments = ["--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction"]
    _run("pg_restore", [*arguments, f"--dbname={_settings()['NAME']}", str(source)])


def tables_in(dump: Path) -> int:
    """The number of tables with data in a dump, from its table of contents.

    Raises:
        BackupError: it cannot be read.
    """
    return _run("pg_restore", ["--list", str(dump)]).count(" TABLE DATA ")


def _run(program: str, arguments: Sequence[str]) -> str:
    path = _find(program)
    completed = subprocess.run(  # noqa: S603 - a program of PostgreSQL, and no shell
        [path, *arguments], env={**os.environ, **_connection_variables()}, capture_output=True, text=True, check=False
    )
    if completed.returncode:
        raise BackupError(f"{program} failed: {completed.stderr.strip()[-2000:]}")
    return completed.stdout


def _find(program: str) -> str:
    """The path of the program. PostgreSQL refuses programs that are older than the server."""
    bundled = sorted(Path(str(wheel().__file__)).parent.rglob(f"bin/{program}"))
    on_path = shutil.which(program)
    connection.ensure_connection()
    needed = connection.pg_version // 10_000  # type: ignore[attr-defined]  # only PostgreSQL's wrapper has it
    connection.close()
    for path in [*map(str, bundled), *([on_path] if on_path else [])]:
        output = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout  # noqa: S603
        version = re.search(r"(\d+)\.", output)
        if version and int(version[1]) >= needed:
            return path
    raise BackupError(f"There is no {program} of PostgreSQL {needed} or newer. Install its client programs.")


def _connection_variables() -> Mapping[str, str]:
    """The connection in libpq's environment variables: command lines, which others could see, have no password."""
    settings = _settings()
    keys = {"PGHOST": "HOST", "PGPORT": "PORT", "PGUSER": "USER", "PGPASSWORD": "PASSWORD", "PGDATABASE": "NAME"}
    variables = {name: str(settings[key]) for name, key in keys.items() if settings.get(key)}
    for name, option in {"PGSSLMODE": "sslmode", "PGSSLROOTCERT": "sslrootcert", "PGHOST": "host"}.items():
        if value := settings.get("OPTIONS", {}).get(option):
            variables[name] = str(value)
    return variables


def _settings() -> dict[str, Any]:
    # Bypasses a connection pooler: these programs need a session.
    return direct_settings()
