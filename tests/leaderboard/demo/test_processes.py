"""Ending a demo."""

import os
import signal
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
