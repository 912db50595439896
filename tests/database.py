"""The PostgreSQL of the tests: one migrated cluster a run, of which each process has a copy of its own."""

import fcntl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from django.conf import settings
from django.core.management import call_command
from django.db import connection

from leaderboard.platform import embedded
from leaderboard.platform.environment import parse_database_url

MIGRATED = "migrated"
"""A database of every cluster that has the site's tables and no rows, to be the template of others. Nobody connects to
it: PostgreSQL copies only what nobody uses."""
_OWN = "planarena"
"""What Django's connection leads to."""


@contextmanager
def cluster(folder: Path, *, run: Path) -> Iterator[str]:
    """Start a cluster that has `MIGRATED` and does not wait for the disk, and yield its address.

    Args:
        folder: of this process.
        run: the folder of this run, the same for all its processes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    # It keeps its owner, which is not this user where the tests run as root.
    subprocess.run(["cp", "-a", str(_migrated(run) / "postgres"), str(folder / "postgres")], check=True)
    url = embedded.start(folder)
    try:
        yield url
    finally:
        embedded.stop(folder)


def connect_django(url: str, *, name: str = _OWN) -> None:
    """Let Django's connection lead to a database of a cluster."""
    connection.close()
    found = parse_database_url(url)
    settings.DATABASES["default"].update({key: value for key, value in found.items() if key != "OPTIONS"}, NAME=name)


def make_database(url: str, *, name: str = _OWN) -> None:
    """Make a database with the site's tables."""
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(f'CREATE DATABASE "{name}" TEMPLATE {MIGRATED}')  # type: ignore[arg-type]


def _migrated(run: Path) -> Path:
    """The data folder of the cluster that others are copies of; the first process that needs it makes it."""
    folder, done = run / "template", run / "done"
    run.mkdir(mode=0o700, exist_ok=True)
    with (run / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            url = embedded.start(folder)
            with psycopg.connect(url, autocommit=True) as server:
                for option in ("fsync", "synchronous_commit", "full_page_writes"):
                    server.execute(f"ALTER SYSTEM SET {option} = off")  # type: ignore[arg-type]
                server.execute(f"CREATE DATABASE {MIGRATED}")  # type: ignore[arg-type]
            before = dict(settings.DATABASES["default"])
            try:
                connect_django(url, name=MIGRATED)
                call_command("migrate", verbosity=0)
            finally:
                connection.close()
                settings.DATABASES["default"].update(before)
            embedded.stop(folder)
            done.touch()
    return folder
