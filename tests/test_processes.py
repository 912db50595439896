"""Programs that tests start say why they failed, and end with the process of the tests."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.processes import ROOT, Program, lives

WAITING = "import time\ndef never_ends():\n    time.sleep(600)\nprint('begun', flush=True)\nnever_ends()"
KILLED = """
import os, signal, sys
from pathlib import Path
from tests.processes import Program
waiting = Program([sys.executable, "-c", sys.argv[1]], log=Path(sys.argv[2]))
print(waiting.process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_wait_that_fails_shows_output_and_stacks(tmp_path: Path):
    program = Program([sys.executable, "-c", WAITING], log=tmp_path / "log")
    program.wait_for(lambda: "begun" in program.output, what="its first line", seconds=60)
    with pytest.raises(AssertionError, match=r"(?s)more did not happen.*begun.*in never_ends"):
        program.wait_for(lambda: "more" in program.output, what="more", seconds=0)
    assert not lives(program.process.pid)


def test_nothing_is_left_when_the_process_of_the_tests_is_killed(tmp_path: Path):
    command = [sys.executable, "-c", KILLED, WAITING, str(tmp_path / "log")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == -9, done.stderr
    until = time.monotonic() + 60
    while lives(int(done.stdout)):
        assert time.monotonic() < until, "it is still there"
        time.sleep(0.05)
