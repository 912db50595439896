"""Liveness of processes without HTTP: they touch a file that a probe checks.

The file shows only that the process's own loop runs, not that broker, database or site are up: restarting the process
would not bring those back.
"""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from celery import Celery, bootsteps, signals

ALIVE_FILE = "PLANARENA_ALIVE_FILE"
_EVERY_SECONDS = 5.0
_LONGEST_TURN_SECONDS = 90.0
"""A worker that is connected to its broker hangs if its loop takes longer than this for a turn. Calls of the broker
time out earlier (`CELERY_BROKER_TRANSPORT_OPTIONS`)."""


def alive_file() -> Callable[[], None]:
    """A function that touches the file of PLANARENA_ALIVE_FILE, or does nothing if that is not set."""
    path = os.environ.get(ALIVE_FILE, "").strip()
    return Path(path).touch if path else lambda: None


class Pulse:
    """Touches the file from a thread while the process's loop runs or is known to wait for the broker."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._turned: float | None = None
        """Time of the loop's last turn; None while there is no loop, since the process waits for its broker."""
        self._touch = alive_file()

    def start(self) -> None:
        """Start the thread. Removes the file that an earlier process in this container may have left."""
        if path := os.environ.get(ALIVE_FILE, "").strip():
            Path(path).unlink(missing_ok=True)
            threading.Thread(target=self._run, name="sign-of-life", daemon=True).start()

    def turn(self) -> None:
        """Record a turn of the loop."""
        self._turned = self._clock()

    def wait_for_broker(self) -> None:
        """Record that the loop has ended until the broker is back."""
        self._turned = None

    def beat(self) -> None:
        """Touch the file if the process is alive."""
        turned = self._turned
        if turned is None or self._clock() - turned < _LONGEST_TURN_SECONDS:
            self._touch()

    def _run(self) -> None:
        while True:
            self.beat()
            time.sleep(_EVERY_SECONDS)


def show_signs_of_life(app: Celery) -> None:
    """Let Celery's worker and beat touch the file. Pinging workers is not possible, since remote control is off."""
    pulse = Pulse()

    class SignOfLife(bootsteps.StartStopStep):
        """Step of the worker: its timer runs in the loop, which exists only while the broker answers."""

        requires = ("celery.worker.components:Timer",)

        def start(self, parent: Any) -> None:
            pulse.start()
            parent.timer.call_repeatedly(_EVERY_SECONDS, pulse.turn)

    class Connected(bootsteps.StartStopStep):
        """Step of the worker's consumer: started when the broker answers, stopped when it no longer does."""

        requires = ("celery.worker.consumer.tasks:Tasks",)

        def start(self, parent: Any) -> None:  # noqa: ARG002 - Celery's signature
            pulse.turn()

        def stop(self, parent: Any) -> None:  # noqa: ARG002 - Celery's signature
            pulse.wait_for_broker()

    app.steps["worker"].add(SignOfLife)
    app.steps["consumer"].add(Connected)
    # The scheduler's loop only calls the broker, and each call may last as long as the broker is away.
    signals.beat_init.connect(lambda **_: pulse.start(), weak=False)
