"""The PostgreSQL in the data folder."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
from django.core.exceptions import ImproperlyConfigured

from leaderboard.platform import embedded
from tests.rings import usual


def postmaster(data: Path) -> int:
    return int((data / "postgres" / "postmaster.pid").read_text().splitlines()[0])


def answers(url: str) -> bool:
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT 1").fetchone() == (1,)


@pytest.fixture
def data() -> Iterator[Path]:
    """A data folder outside pytest's own: as root PostgreSQL runs as another user, and every pytest that starts closes
    the folder of all runs to others."""
    with tempfile.TemporaryDirectory(prefix="embedded-") as name:
        yield Path(name)


def test_a_second_process_joins_the_server_that_runs_and_its_end_does_not_stop_it(data):
    url = embedded.start(data)
    program = "from pathlib import Path; from leaderboard.platform import embedded;"
    program += f"print(embedded.start(Path({str(data)!r})))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == url
    assert answers(url)
    embedded.stop(data)
    assert not (data / "postgres" / "postmaster.pid").exists()


def test_the_process_that_started_a_killed_server_starts_it_again(data):
    embedded.start(data)
    # Its file is gone as soon as it ends.
    server = psutil.Process(postmaster(data))
    server.send_signal(signal.SIGQUIT)
    server.wait(timeout=10)
    assert answers(embedded.start(data))
    embedded.stop(data)


@pytest.mark.parametrize("taken", usual([".lockfile", f"runtime-{os.geteuid()}"], of=[".lockfile"]))
def test_fixed_names_in_the_temporary_folder_may_belong_to_somebody_else(data, tmp_path, taken):
    temporary = tmp_path / "t"
    (temporary / taken).mkdir(parents=True)
    if taken != ".lockfile":
        (temporary / taken).rmdir()
        (temporary / taken).write_text("not a folder of this user")
    program = f"from pathlib import Path; from leaderboard.platform import embedded;embedded.start(Path({str(data)!r}))"
    environment = {name: value for name, value in os.environ.items() if name != "XDG_RUNTIME_DIR"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env=environment | {"TMPDIR": str(temporary)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert [path.name for path in temporary.iterdir()] == [taken]


def test_only_the_user_of_a_data_folder_reaches_its_socket_where_the_path_is_too_long_for_one(data):
    home = data / "home"
    home.mkdir(mode=0o700)
    data = home / ("long " * 20) / "and with blanks"
    url = embedded.start(data)
    try:
        assert answers(url)
        sockets = Path((data / "postgres" / "postmaster.pid").read_text().splitlines()[4])
        assert sockets != data / "postgres"
        assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
        assert stat.S_IMODE((sockets / ".s.PGSQL.5432").stat().st_mode) & 0o077 == 0
    finally:
        embedded.stop(data)
    assert not sockets.exists()
    # Folders above the data folder are not opened to be listed.
    assert stat.S_IMODE(home.stat().st_mode) in {0o700, 0o701}


def test_a_data_folder_of_another_user_is_one_sentence_that_names_it(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    # A folder in the place of the lock file is refused as a lock file of another user is, also for root.
    (data / "postgres.lock").mkdir()
    with pytest.raises(ImproperlyConfigured) as caught:
        embedded.start(data)
    assert str(data) in str(caught.value)


def test_a_user_id_without_a_name_is_refused_with_what_helps():
    with pytest.raises(ImproperlyConfigured, match=r"54321 has no entry in /etc/passwd.*DATABASE_URL"):
        embedded.require_account(54321)
    embedded.require_account(os.geteuid())
