"""The bootstrap script on a machine on which nothing is installed."""

import os
import shutil
import subprocess

import pytest

from tests.packaging.conftest import ROOT
from tests.rings import usual

_COPIED = ("planarena", "pyproject.toml", "constraints.txt")


@pytest.fixture
def bare(tmp_path):
    """A fresh checkout with a Python that can make no virtual environment: whoever installs something fails loudly."""
    for name in _COPIED:
        shutil.copy(ROOT / name, tmp_path)
    for name in ("evaluator", "leaderboard", "gpu_jobs", "requirements"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


def planarena(folder, *arguments):
    # `df` says that the disk is full, so that an installation ends before it begins.
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    (tools / "df").write_text("#!/bin/sh\nprintf 'Filesystem\\nnone 0 0 0 0 /\\n'\n")
    (tools / "df").chmod(0o755)
    environment = os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"}
    return subprocess.run(
        [folder / "planarena", *arguments], capture_output=True, text=True, timeout=60, env=environment, check=False
    )


MISTYPED = {
    "demoo": "Did you mean 'demo' or 'daemon'?",
    "mange migrate": "Did you mean 'manage'?",
    "--verbose evalute": "Did you mean 'evaluate'?",
    "tets": "Did you mean 'test' or 'suites'?",
    "qqqq": "planarena --help lists them.",
}
COMMANDS = ("demo", "dev", "manage", "wheel", "lock", "worker", "evaluate", "submit", "test")


def test_a_mistyped_command_is_refused_before_anything_is_installed(bare):
    for line, meant in MISTYPED.items():
        done = planarena(bare, *line.split())
        assert (done.returncode, done.stdout) == (2, ""), line
        assert meant in done.stderr
        assert "MiB" not in done.stderr, line
    assert not (bare / ".venv").exists()


@pytest.mark.parametrize("command", usual(COMMANDS, of=("submit",)))
def test_every_command_gets_to_its_installation(bare, command):
    done = planarena(bare, command)
    assert "MiB of free disk are needed for the Python packages" in done.stderr
