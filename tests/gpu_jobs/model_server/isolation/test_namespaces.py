"""Starting a program in namespaces of its own, where bubblewrap is not installed."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.full

CHILD_FIRST = """
import os, sys, time
from pathlib import Path
from gpu_jobs.model_server.isolation import namespaces
path = Path(sys.argv[1])
fork = os.fork

def child_first():
    # The child replaces the file system that both share before its parent goes on.
    pid = fork()
    while pid and path.exists():
        time.sleep(0.01)
    return pid

os.devnull, os.fork = str(path), child_first
sys.exit(namespaces._as_parent_of(lambda: path.unlink() or 7))
"""


def test_a_parent_needs_nothing_of_the_file_system_that_its_child_replaces(tmp_path):
    path = tmp_path / "null"
    path.touch()
    done = subprocess.run([sys.executable, "-c", CHILD_FIRST, str(path)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (7, "")
