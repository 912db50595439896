"""The threads of a web process that run jobs: a few for each kind, apart from those that answer requests.

In the web process, since the queue's processes have no key that opens a secret header, and few places, which a
stranger's machine must not hold. A thread that waits costs little; what it waits for has a process of its own where it
is costly.
"""

import logging
import threading
import time
from collections.abc import Mapping

from django.db import DatabaseError

from leaderboard.platform.pooled import give_connection_back
from leaderboard.queue.jobs import services
from leaderboard.queue.jobs.services import JobKind
from leaderboard.queue.models import Job

logger = logging.getLogger(__name__)

POLL_SECONDS = 5.0
"""How soon a job is noticed that another process accepted and cannot run."""
SWEEP_SECONDS = 60.0
"""Between sweeps of this process."""


class Runner:
    """Starts jobs of each kind, as many at once as the kind allows."""

    def __init__(self, kinds: Mapping[str, JobKind], *, poll_seconds: float = POLL_SECONDS) -> None:
        """
        Args:
            kinds: what it runs; may still grow.
            poll_seconds: between looks at the database when nobody wakes it.
        """
        self._kinds, self._poll_seconds = kinds, poll_seconds
        self._woken, self._stopped = threading.Event(), threading.Event()
        self._lock = threading.Lock()
        self._running: dict[threading.Thread, str] = {}
        self._thread = threading.Thread(target=self._dispatch, name="jobs", daemon=True)

    def start(self) -> None:
        """Begin. Its threads end with the process; what they leave fails at its deadline."""
        services.accepted.register(self.wake)
        self._thread.start()

    def stop(self) -> None:
        """Start nothing more, and wait for what runs."""
        self._stopped.set()
        self._woken.set()
        self._thread.join()
        with self._lock:
            running = list(self._running)
        for thread in running:
            thread.join()

    def wake(self, job: Job | None = None) -> None:  # noqa: ARG002 - a callback of the hook
        """Look for jobs now."""
        self._woken.set()

    def running(self, kind: str) -> int:
        """How many of a kind this process runs now."""
        with self._lock:
            return sum(name == kind for name in self._running.values())

    def _dispatch(self) -> None:
        sweep_at = 0.0
        while not self._stopped.is_set():
            self._woken.wait(self._poll_seconds)
            self._woken.clear()
            if self._stopped.is_set():
                return
            try:
                if time.monotonic() >= sweep_at:
                    services.sweep()
                    sweep_at = time.monotonic() + SWEEP_SECONDS
                if services.has_waiting():
                    for kind in list(self._kinds.values()):
                        self._start_some(kind)
            except Exception:  # whatever it is, the next look may succeed
                logger.exception("jobs wait")
            finally:
                give_connection_back()

    def _start_some(self, kind: JobKind) -> None:
        while self.running(kind.name) < kind.at_once and (job := services.claim(kind)) is not None:
            thread = threading.Thread(target=self._run, args=(job, kind), name=f"job-{kind.name}", daemon=True)
            with self._lock:
                self._running[thread] = kind.name
            try:
                thread.start()
            except RuntimeError:
                # The system has no more threads: the job fails at its deadline.
                with self._lock:
                    del self._running[thread]
                raise

    def _run(self, job: Job, kind: JobKind) -> None:
        try:
            services.run(job, kind=kind)
        except DatabaseError:
            logger.warning("%s ended, and the database does not take its result", job, exc_info=True)
        finally:
            give_connection_back()
            with self._lock:
                del self._running[threading.current_thread()]
            self.wake()
