"""Signs of life of an attempt: the phase that the worker is in, and the heartbeats that report it."""

import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from gpu_jobs.client import ApiClient, AttemptOverError, RefusedError, UnreachableError
from gpu_jobs.contract import Lease, Phase
from gpu_jobs.exits import Exit
from gpu_jobs.tracing import spans

if TYPE_CHECKING:
    from gpu_jobs.tracing.exporting import OpenSpan

logger = logging.getLogger(__name__)
_LET_GO_SECONDS = 15.0
"""For so long a worker may go on with an attempt that is over, where its launcher asked it to stop."""
_INTERRUPT_EVERY_SECONDS = 2.0
_SPANS = {
    Phase.PREPARING: "prepare",
    Phase.FETCHING: "fetch model",
    Phase.LOADING: "start model",
    Phase.PLANNING: "plan",
    Phase.EXECUTING: "execute",
}


class CurrentPhase:
    """The phase that one thread enters and another one, which sends heartbeats, reads. It only goes forward. Each is a
    span of the attempt's trace."""

    def __init__(self) -> None:
        self.now = Phase.PREPARING
        self._attempt = ""
        """`traceparent` of the attempt's span."""
        self._span: OpenSpan | None = None

    def begin(self) -> None:
        """A new attempt begins: the current span is its."""
        self.now = Phase.PREPARING
        self._attempt = spans.traceparent()
        self._follow()

    def enter(self, phase: Phase) -> None:
        """Go on to a phase; nothing happens if it is the present one or an earlier one."""
        if self.now in phase.before():
            self.now = phase
            self._follow()

    def end(self) -> None:
        """The attempt has no further phase."""
        if self._span is not None:
            self._span.end()
            self._span = None

    def note_scoring(self, seconds: float) -> None:
        """The last so many seconds were spent on scores."""
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
    """Says regularly that the worker lives and which phase it is in, and learns when the attempt is over."""

    def __init__(
        self, *, client: ApiClient, lease: Lease, phase: CurrentPhase, interrupt: Callable[[], None] | None = None
    ) -> None:
        """Args:
        client: the API.
        lease: of the attempt.
        phase: the current one.
        interrupt: called again and again from when the attempt is over until the worker has left it.
        """
        self.over: AttemptOverError | None = None
        """Set when the server says that the attempt is over."""
        self._client = client
        self._lease = lease
        self._phase = phase
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
        """Ask at once whether the attempt is over; if so, send SIGUSR1 to this process, and end it if it does not let
        go of the attempt. For a signal handler: it only sets a flag."""
        self._must_let_go = True
        self._wake.set()

    def check(self) -> None:
        """Go on only while the attempt is this worker's.

        Raises:
            AttemptOverError: it is not.
        """
        if self.over is not None:
            raise self.over

    def _run(self) -> None:
        while True:
            self._wake.wait(self._lease.heartbeat_seconds)
            self._wake.clear()
            if self._stopping.is_set():
                return
            try:
                self._client.heartbeat(self._lease, phase=self._phase.now)
            except AttemptOverError as error:
                self.over = error
                break
            except (UnreachableError, RefusedError) as error:
                # The next one may arrive; if none does, the server takes the lease back.
                logger.warning("heartbeat failed: %s", error)
        while not self._must_let_go:
            if self._interrupt is not None:
                self._interrupt()
            self._wake.wait(None if self._interrupt is None else _INTERRUPT_EVERY_SECONDS)
            self._wake.clear()
            if self._stopping.is_set():
                return
        os.kill(os.getpid(), signal.SIGUSR1)
        if not self._stopping.wait(_LET_GO_SECONDS):
            logger.error("attempt %s is over, and this process does not let go of it: it ends", self._lease.attempt)
            os._exit(Exit.TERMINATED)
