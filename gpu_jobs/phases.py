"""The phase that a worker is in, which it reports with its heartbeats."""

import time
from typing import TYPE_CHECKING

from gpu_jobs.contract.attempt import Phase
from gpu_jobs.tracing import spans

if TYPE_CHECKING:
    from gpu_jobs.tracing.exporting import OpenSpan


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


_SPANS = {
    Phase.PREPARING: "prepare",
    Phase.FETCHING: "fetch model",
    Phase.LOADING: "start model",
    Phase.PLANNING: "plan",
    Phase.EXECUTING: "execute",
}
