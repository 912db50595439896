"""What a worker is doing with an attempt, which it reports with its heartbeats.

The site gives each phase a bounded time, so that a worker that loads a large model is not taken for one that hangs, and
one that hangs is not kept alive by its heartbeat thread.
"""

from enum import StrEnum


class Phase(StrEnum):
    """The phases of an attempt, in the order in which they follow each other. None of them comes twice."""

    PREPARING = "preparing"
    """Loading the suite and what else the worker needs before the planner."""
    FETCHING = "fetching"
    """Downloading the planner's model or checkpoint."""
    LOADING = "loading"
    """Loading that model into memory."""
    PLANNING = "planning"
    """Asking the planner."""
    EXECUTING = "executing"
    """Executing and scoring plans. Where plans are executed, most results come at the end of this phase."""

    def in_words(self) -> str:
        """What the worker does, as part of a sentence."""
        return _WORDS[self]

    def before(self) -> "tuple[Phase, ...]":
        """The phases that come before this one."""
        order = tuple(Phase)
        return order[: order.index(self)]


_WORDS = {
    Phase.PREPARING: "preparing its tasks",
    Phase.FETCHING: "downloading the planner's model",
    Phase.LOADING: "loading the planner's model",
    Phase.PLANNING: "asking the planner",
    Phase.EXECUTING: "executing plans",
}


class CurrentPhase:
    """The phase that one thread enters and another one, which sends heartbeats, reads. It only goes forward."""

    def __init__(self) -> None:
        self.now = Phase.PREPARING

    def begin(self) -> None:
        """A new attempt begins."""
        self.now = Phase.PREPARING

    def enter(self, phase: Phase) -> None:
        """Go on to a phase; nothing happens if it is the present one or an earlier one."""
        if self.now in phase.before():
            self.now = phase
