"""Ending a demo."""

import os
import signal
import sys
import time
from contextlib import suppress

import pytest

from leaderboard.demo.processes import Supervisor, interruptible


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_demo_even_if_a_library_caught_its_exception(tmp_path, number):
    with interruptible() as raise_if_interrupted:
        supervisor = Supervisor(logs=tmp_path, home=tmp_path, environment={}, raise_if_interrupted=raise_if_interrupted)
        supervisor.watch()
        with suppress(KeyboardInterrupt):
            os.kill(os.getpid(), number)
            time.sleep(1)
        with pytest.raises(KeyboardInterrupt):
            supervisor.watch()


WAIT = [sys.executable, "-c", "import time; time.sleep(60)"]
FAIL = [sys.executable, "-c", "raise SystemExit(3)"]


def test_a_restarted_process_is_another_one_and_the_others_go_on(tmp_path):
    supervisor = Supervisor(logs=tmp_path, home=tmp_path, environment=os.environ)
    try:
        for name in ("site", "queue"):
            supervisor.start(name=name, command=WAIT)
        before = noted(tmp_path)
        supervisor.restart({"site", "unknown"})
        after = noted(tmp_path)
        assert len(before) == len(after) == 2
        assert len(before & after) == 1
        assert supervisor.ended() == []
    finally:
        supervisor.stop()


def test_a_process_that_ended_is_named_and_not_started_again_by_itself(tmp_path):
    supervisor = Supervisor(logs=tmp_path, home=tmp_path, environment=os.environ)
    try:
        supervisor.start(name="site", command=FAIL)
        while not supervisor.ended():
            time.sleep(0.02)
        (child,) = supervisor.ended()
        assert (child.name, child.process.returncode, child.restarts) == ("site", 3, 0)
    finally:
        supervisor.stop()


def noted(logs):
    """The processes that the supervisor wrote down, for a demo that comes after it."""
    return set((logs / "pids").read_text().splitlines())
