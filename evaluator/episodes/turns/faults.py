"""Faults injected into episodes, to measure how planners in turns cope with failing tools.

A fault always affects the first action that runs, so that it depends only on the planner. It looks like a real one.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from evaluator.core.transcripts import ActionProblem
from evaluator.episodes.turns.environment import Call, Made, Outcome, Refused

if TYPE_CHECKING:
    from evaluator.episodes.turns.episode import Episode


class Fault(StrEnum):
    """The fault of the first action of an episode that runs."""

    ONCE = "once"
    """It fails once."""
    ALWAYS = "always"
    """It fails whenever it is repeated with the same arguments; other actions work."""
    LATE = "late"
    """It works, but takes half of the time limit of the episode."""
    NONSENSE = "nonsense"
    """Its results are nonsense texts once; typed results of experts are unchanged."""


NO_ANSWER = "The tool did not answer. Nothing was changed."
NONSENSE = "zzq 0x9f vlorp ### 7/0 mnemtk"
LATE_SHARE = 0.5
"""Share of the time limit of an episode."""


@dataclass(slots=True)
class FaultInjector:
    """Injects a fault into the episodes of one run."""

    fault: Fault
    seconds: float
    """Time limit of an episode."""
    _affected: "WeakKeyDictionary[Episode, tuple[object, ...]]" = field(default_factory=WeakKeyDictionary)
    """The affected call of each episode."""

    def before_call(self, episode: "Episode", call: Call) -> Outcome | None:
        """The outcome of a call that must fail; None: it runs."""
        is_first = episode not in self._affected
        if is_first and self.fault in (Fault.ONCE, Fault.ALWAYS):
            self._affected[episode] = _identity(call)
            return _FAILED
        if self.fault is Fault.ALWAYS and self._affected[episode] == _identity(call):
            return _FAILED
        return None

    def after_call(self, episode: "Episode", call: Call, *, result: tuple[Outcome, float]) -> tuple[Outcome, float]:
        """The outcome and seconds of a call that ran, as the episode sees them."""
        outcome, seconds = result
        # A genuine failure is not a test of the planner; wait for a call that works.
        if episode in self._affected or not isinstance(outcome, Made):
            return outcome, seconds
        if self.fault is Fault.LATE:
            self._affected[episode] = _identity(call)
            return outcome, seconds + LATE_SHARE * self.seconds
        if self.fault is Fault.NONSENSE and outcome.run is None:
            self._affected[episode] = _identity(call)
            return Made(values=(NONSENSE,) * len(outcome.values)), seconds
        return outcome, seconds


_FAILED = Refused(ActionProblem.TOOL_ERROR, NO_ANSWER)


def _identity(call: Call) -> tuple[object, ...]:
    return call.tool, call.arguments, tuple(sorted(call.values.items())), call.sample
