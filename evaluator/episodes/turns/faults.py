"""Faults that are injected into episodes, to see how planners in turns cope with tools that do not work.

The fault always hits the first action that runs, so that it depends on nothing but what the planner does. Planners see
it as they would see a real one.
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
    """What happens to the first action of an episode that runs."""

    ONCE = "once"
    """It fails; repeated, it works."""
    ALWAYS = "always"
    """It fails, and fails again however often it is repeated with the same arguments. Other actions work."""
    LATE = "late"
    """It works, but takes half of the time that the episode may take."""
    NONSENSE = "nonsense"
    """Its results are texts without sense; repeated, it works. Typed results of experts are left as they are."""


NO_ANSWER = "The tool did not answer. Nothing was changed."
NONSENSE = "zzq 0x9f vlorp ### 7/0 mnemtk"
LATE_SHARE = 0.5
"""Of the seconds of an episode."""


@dataclass(slots=True)
class FaultInjector:
    """Disturbs the episodes of one run."""

    fault: Fault
    seconds: float
    """That an episode may take."""
    _hit: "WeakKeyDictionary[Episode, tuple[object, ...]]" = field(default_factory=WeakKeyDictionary)
    """The calls that were hit first."""

    def instead(self, episode: "Episode", call: Call) -> Outcome | None:
        """The outcome of a call that must not run; None: it runs."""
        is_first = episode not in self._hit
        if is_first and self.fault in (Fault.ONCE, Fault.ALWAYS):
            self._hit[episode] = _identity(call)
            return _FAILED
        if self.fault is Fault.ALWAYS and self._hit[episode] == _identity(call):
            return _FAILED
        return None

    def afterwards(self, episode: "Episode", call: Call, *, result: tuple[Outcome, float]) -> tuple[Outcome, float]:
        """What the episode gets of a call that ran, with the seconds that it took."""
        outcome, seconds = result
        # A call that failed by itself is no proof of patience or of care.
        if episode in self._hit or not isinstance(outcome, Made):
            return outcome, seconds
        if self.fault is Fault.LATE:
            self._hit[episode] = _identity(call)
            return outcome, seconds + LATE_SHARE * self.seconds
        if self.fault is Fault.NONSENSE and outcome.run is None:
            self._hit[episode] = _identity(call)
            return Made(values=(NONSENSE,) * len(outcome.values)), seconds
        return outcome, seconds


_FAILED = Refused(ActionProblem.TOOL_ERROR, NO_ANSWER)


def _identity(call: Call) -> tuple[object, ...]:
    return call.tool, call.arguments, tuple(sorted(call.values.items())), call.sample
