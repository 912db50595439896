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


def test_a_restarted_process_is_another_one_and_one_that_ended_is_named_and_not_started_again(tmp_path):
    def noted() -> set[str]:
        """The processes that the supervisor wrote down, for a demo that comes after it."""
        return set((tmp_path / "pids").read_text().splitlines())

    supervisor = Supervisor(logs=tmp_path, home=tmp_path, environment=os.environ)
    try:
        for name in ("site", "queue"):
            supervisor.start(name=name, command=[sys.executable, "-c", "import time; time.sleep(60)"])
        before = noted()
        supervisor.restart({"site", "unknown"})
        after = noted()
        assert (len(before), len(after), len(before & after)) == (2, 2, 1)
        assert supervisor.ended() == []
        supervisor.start(name="fails", command=[sys.executable, "-c", "raise SystemExit(3)"])
        while not supervisor.ended():
            time.sleep(0.02)
        (child,) = supervisor.ended()
        assert (child.name, child.process.returncode, child.restarts) == ("fails", 3, 0)
    finally:
        supervisor.stop()
