"""Signs of life of processes that no probe can ask by HTTP: a file that a probe looks at.

They say that the process's own loop goes round, and nothing of broker, database or site: to start a process again would
not bring those back.
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
"""Without a turn of its loop for so long, a worker that is connected to its broker hangs. Calls of the broker end
earlier (`CELERY_BROKER_TRANSPORT_OPTIONS`)."""


def alive_file() -> Callable[[], None]:
    """A function that touches the file that PLANARENA_ALIVE_FILE names; does nothing if it names none."""
    path = os.environ.get(ALIVE_FILE, "").strip()
    return Path(path).touch if path else lambda: None


class Pulse:
    """Touches the file from a thread, as long as the process's loop goes round or is known to wait for the broker."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Args:
        clock: seconds.
        """
        self._clock = clock
        self._turned: float | None = None
        """When the loop went round last; None while there is no loop, since the process waits for its broker."""
        self._touch = alive_file()

    def start(self) -> None:
        """Begin. What an earlier process in this container left is no sign of this one's life: the file is removed."""
        if path := os.environ.get(ALIVE_FILE, "").strip():
            Path(path).unlink(missing_ok=True)
            threading.Thread(target=self._run, name="sign-of-life", daemon=True).start()

    def turn(self) -> None:
        """The loop goes round."""
        self._turned = self._clock()

    def wait_for_broker(self) -> None:
        """The loop has ended, and begins again when the broker is back."""
        self._turned = None

    def beat(self) -> None:
        """Touch the file if the process lives."""
        turned = self._turned
        if turned is None or self._clock() - turned < _LONGEST_TURN_SECONDS:
            self._touch()

    def _run(self) -> None:
        while True:
            self.beat()
            time.sleep(_EVERY_SECONDS)


def show_signs_of_life(app: Celery) -> None:
    """Let Celery's worker and beat touch the file. Remote control, by which one could ask a worker, is off."""
    pulse = Pulse()

    class SignOfLife(bootsteps.StartStopStep):
        """Of the worker: its timer runs in the loop, which there is only while the broker answers."""

        requires = ("celery.worker.components:Timer",)

        def start(self, parent: Any) -> None:
            pulse.start()
            parent.timer.call_repeatedly(_EVERY_SECONDS, pulse.turn)

    class Connected(bootsteps.StartStopStep):
        """Of the worker's consumer: started when the broker answers, stopped when it no longer does."""

        requires = ("celery.worker.consumer.tasks:Tasks",)

        def start(self, parent: Any) -> None:  # noqa: ARG002 - Celery's signature
            pulse.turn()

        def stop(self, parent: Any) -> None:  # noqa: ARG002 - Celery's signature
            pulse.wait_for_broker()

    app.steps["worker"].add(SignOfLife)
    app.steps["consumer"].add(Connected)
    # The scheduler's loop makes nothing but calls of the broker, each of which may last as long as that is away.
    signals.beat_init.connect(lambda **_: pulse.start(), weak=False)
