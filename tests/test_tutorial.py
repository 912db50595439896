"""The tutorial: its planner and its commands do what it says."""

import os
import re
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.run import ROOT

pytestmark = pytest.mark.full

TEXT = (ROOT / "docs" / "tutorial.md").read_text()
CODE = re.findall(r"^```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
COMMANDS = re.findall(r"^    \./planarena ((?:suites|evaluate|ask) .*)$", TEXT, re.MULTILINE)
_PLACE = '    "noisy":'


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextmanager
def serving(code: str, *, folder: Path) -> Iterator[int]:
    """The tutorial's planner on a port that is free."""
    port = free_port()
    (folder / "my_planner.py").write_text(code.replace("9000", str(port)))
    process = subprocess.Popen([sys.executable, "my_planner.py"], cwd=folder, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            with socket.socket() as caller:
                if caller.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait()


def output_of(command: str, *, port: int = 9000) -> str:
    arguments = shlex.split(command.replace("9000", str(port)))
    done = subprocess.run(
        [sys.executable, "-m", "evaluator", *arguments],
        cwd=ROOT, env=os.environ | {"COLUMNS": "80"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout


def test_its_prepared_request_is_answered_in_the_terminal():
    (command,) = [command for command in COMMANDS if command.startswith("ask")]
    shown = output_of(command)
    assert "Done" in shown
    assert "image_inpainting" in shown


def test_it_shows_the_task_that_it_speaks_of():
    (command,) = [command for command in COMMANDS if command.startswith("suites")]
    shown = output_of(command)
    assert "class label" in shown
    assert shown.index("Image Denoising") < shown.index("Image Classification")


@pytest.mark.parametrize(("improved", "share"), [(False, "0.5000"), (True, "1.0000")])
def test_its_planner_has_the_figures_that_it_says(tmp_path: Path, improved: bool, share: str):
    planner, word = CODE
    (command,) = [command for command in COMMANDS if command.startswith("evaluate")]
    code = planner.replace(_PLACE, word + _PLACE) if improved else planner
    with serving(code, folder=tmp_path) as port:
        printed = output_of(command, port=port)
    (row,) = [line for line in printed.splitlines() if line.startswith("Exact plan")]
    assert row.split()[2] == share
    assert share in TEXT
