"""The PostgreSQL in the data folder."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import psycopg

from leaderboard.config import embedded


def postmaster(data: Path) -> int:
    return int((data / "postgres" / "postmaster.pid").read_text().splitlines()[0])


def answers(url: str) -> bool:
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT 1").fetchone() == (1,)


def test_a_second_process_joins_the_server_that_runs_and_its_end_does_not_stop_it(tmp_path):
    url = embedded.start(tmp_path)
    program = (
        "from pathlib import Path; from leaderboard.config import embedded;"
        f"print(embedded.start(Path({str(tmp_path)!r})))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == url
    assert answers(url)
    embedded.stop(tmp_path)
    assert not (tmp_path / "postgres" / "postmaster.pid").exists()


def test_a_killed_server_is_started_again(tmp_path):
    program = (
        "import os, signal; from pathlib import Path; from leaderboard.config import embedded;"
        f"embedded.start(Path({str(tmp_path)!r})); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", program], check=False)
    process = psutil.Process(postmaster(tmp_path))
    children = process.children(recursive=True)
    os.kill(process.pid, signal.SIGKILL)
    psutil.wait_procs(children, timeout=10)
    assert answers(embedded.start(tmp_path))
    embedded.stop(tmp_path)


def test_the_process_that_started_a_killed_server_starts_it_again(tmp_path):
    embedded.start(tmp_path)
    os.kill(postmaster(tmp_path), signal.SIGQUIT)
    psutil.wait_procs([psutil.Process(postmaster(tmp_path))], timeout=10)
    assert answers(embedded.start(tmp_path))
    embedded.stop(tmp_path)
