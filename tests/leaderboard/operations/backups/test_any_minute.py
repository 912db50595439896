"""The drill of the runbook: a database is restored to a minute before a mistake, by the commands of docs/back-up.md."""

import os
import pwd
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import psycopg
import pytest

from leaderboard.platform.embedded import wheel

RUNBOOK = Path("docs/back-up.md").read_text(encoding="utf-8")
SECTION = RUNBOOK[RUNBOOK.index("### Any minute\n") : RUNBOOK.index("### Regular work\n")]
ARCHIVE, BASE, RESTORE = re.findall(r"```sh\n(.*?)```", SECTION, re.DOTALL)
PROGRAMS = Path(str(wheel().__file__)).parent / "pginstall" / "bin"


@pytest.fixture
def folder():
    """A folder of a user as whom PostgreSQL runs; it refuses root."""
    # Sockets have short names.
    path = Path(tempfile.mkdtemp(prefix="drill-", dir="/tmp"))
    if os.getuid() == 0:
        os.chown(path, _user().pw_uid, _user().pw_gid)
    yield path
    for data in ("data", "restored"):
        if (path / data / "postmaster.pid").exists():
            run(f"pg_ctl stop -D {path / data} -m immediate", folder=path)
    shutil.rmtree(path)


def _user():
    return pwd.getpwnam("nobody")


def run(script, *, folder, **variables):
    """Run commands of the runbook, as the user of the database."""
    environment = {
        "PATH": f"{PROGRAMS}:/usr/bin:/bin", "PGHOST": str(folder), "PGPORT": "5432", "PGUSER": "arena",
        "PGDATABASE": "postgres",
        "PGDATA": str(folder / "data"), "ARCHIVE": str(folder / "archive"), "BASE": str(folder / "base"),
        "RESTORED": str(folder / "restored"), "LC_ALL": "C", **variables,
    }  # fmt: skip
    who = {"user": _user().pw_uid, "group": _user().pw_gid, "extra_groups": []} if os.getuid() == 0 else {}
    log = folder / "log"
    with log.open("a") as output:
        code = subprocess.run(
            ["sh", "-euc", script], env=environment, cwd=folder, stdout=output, stderr=output, check=False, **who
        ).returncode
    assert code == 0, log.read_text()


def connect(folder):
    return psycopg.connect(host=str(folder), port=5432, user="arena", dbname="postgres", autocommit=True)


def test_a_database_is_restored_to_the_minute_before_a_mistake(folder):
    run(
        'initdb -U arena -A trust > /dev/null; mkdir "$ARCHIVE"; '
        f'echo "unix_socket_directories = \'{folder}\'" >> "$PGDATA/postgresql.conf"; '
        'echo "listen_addresses = \'\'" >> "$PGDATA/postgresql.conf"; pg_ctl start -w -l server.log',
        folder=folder,
    )
    run(ARCHIVE, folder=folder)
    with connect(folder) as database:
        database.execute("CREATE TABLE results (task int)")
        database.execute("INSERT INTO results VALUES (1)")
    run(BASE, folder=folder)
    with connect(folder) as database:
        database.execute("INSERT INTO results VALUES (2)")
        (minute,) = database.execute("SELECT clock_timestamp()::text").fetchone()
        database.execute("DELETE FROM results")
    # The server ends, which archives the rest of its log, and its volume is lost.
    run('pg_ctl stop -m fast; rm -r "$PGDATA"', folder=folder)
    run(RESTORE, folder=folder, MINUTE=minute)
    with connect(folder) as database:
        assert database.execute("SELECT task FROM results ORDER BY task").fetchall() == [(1,), (2,)]
        assert database.execute("SELECT pg_is_in_recovery()").fetchone() == (False,)
        database.execute("INSERT INTO results VALUES (3)")
