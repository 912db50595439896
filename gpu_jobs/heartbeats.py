"""Heartbeats of an attempt, which report the worker's current phase."""

import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from gpu_jobs.client import AttemptOverError, RefusedError, UnreachableError
from gpu_jobs.contract import Phase
from gpu_jobs.exits import Exit
from gpu_jobs.tracing import spans

if TYPE_CHECKING:
    from gpu_jobs.tracing.exporting import OpenSpan

logger = logging.getLogger(__name__)
_LET_GO_SECONDS = 15.0
"""After this time a worker that was asked to stop, but still runs an attempt that has ended, is killed."""
_INTERRUPT_EVERY_SECONDS = 2.0
_SPANS = {
    Phase.PREPARING: "prepare",
    Phase.FETCHING: "fetch model",
    Phase.LOADING: "start model",
    Phase.PLANNING: "plan",
    Phase.EXECUTING: "execute",
}


class CurrentPhase:
    """The current phase, set by the main thread and read by the heartbeat thread. It only moves forward. Each phase is
    a span of the attempt's trace."""

    def __init__(self) -> None:
        self.now = Phase.PREPARING
        self._attempt = ""
        """`traceparent` of the attempt's span."""
        self._span: OpenSpan | None = None

    def begin(self) -> None:
        """Start a new attempt in the current span."""
        self.now = Phase.PREPARING
        self._attempt = spans.traceparent()
        self._follow()

    def enter(self, phase: Phase) -> None:
        """Move on to a phase; the current one and earlier ones are ignored."""
        if self.now in phase.before():
            self.now = phase
            self._follow()

    def end(self) -> None:
        """End the current phase's span."""
        if self._span is not None:
            self._span.end()
            self._span = None

    def note_scoring(self, seconds: float) -> None:
        """Record that the last `seconds` were spent on scoring."""
        if self._span is not None:
            began = time.time_ns() - int(seconds * 1e9)
            scoring = spans.start("score", parent=self._span.traceparent, started=began)
            if scoring is not None:
                scoring.end()

    def _follow(self) -> None:
        self.end()
        if self._attempt:
            self._span = spans.start(_SPANS[self.now], parent=self._attempt)


class Heartbeats:
    """Sends heartbeats in the background, and learns from them when the attempt, or a run of the workbench, has
    ended."""

    def __init__(
        self, *, beat: Callable[[], object], seconds: float, name: str, interrupt: Callable[[], None] | None = None
    ) -> None:
        """Args:
        beat: sends one.
        seconds: between two.
        name: of the attempt, for the log.
        interrupt: called repeatedly after the attempt has ended, until the worker leaves it.
        """
        self.over: AttemptOverError | None = None
        """Set when the attempt has ended."""
        self._beat = beat
        self._seconds = seconds
        self._name = name
        self._stopping = threading.Event()
        self._wake = threading.Event()
        self._must_let_go = False
        self._interrupt = interrupt
        self._thread = threading.Thread(target=self._run, name="heartbeats", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._wake.set()

    def ask_now(self) -> None:
        """Send a heartbeat now. If the attempt has ended, send SIGUSR1 to this process, and kill it if it does not
        leave the attempt. Safe in signal handlers: only sets flags."""
        self._must_let_go = True
        self._wake.set()

    def check(self) -> None:
        """Check that the attempt is live.

        Raises:
            AttemptOverError: it has ended.
        """
        if self.over is not None:
            raise self.over

    def _run(self) -> None:
        while True:
            self._wake.wait(self._seconds)
            self._wake.clear()
            if self._stopping.is_set():
                return
            try:
                self._beat()
            except AttemptOverError as error:
                self.over = error
                break
            except (UnreachableError, RefusedError) as error:
                # The next one may arrive; if none does, the lease expires.
                logger.warning("a heartbeat of %s failed: %s", self._name, error)
        while not self._must_let_go:
            if self._interrupt is not None:
                self._interrupt()
            self._wake.wait(None if self._interrupt is None else _INTERRUPT_EVERY_SECONDS)
            self._wake.clear()
            if self._stopping.is_set():
                return
        os.kill(os.getpid(), signal.SIGUSR1)
        if not self._stopping.wait(_LET_GO_SECONDS):
            logger.error("exiting: %s has ended, but this process has not left it", self._name)
            os._exit(Exit.TERMINATED)
