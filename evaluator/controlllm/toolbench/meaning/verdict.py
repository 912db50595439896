"""Three-valued verdicts on pairs of texts (Kleene's strong logic)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum


class Verdict(IntEnum):
    """Whether two texts have the same meaning. Ordered, so that `min` is "and" and `max` is "or"."""

    DIFFERENT = 0
    UNDECIDED = 1
    SAME = 2

    @staticmethod
    def of(is_same: bool) -> "Verdict":
        """The verdict of a rule that is never undecided."""
        return Verdict.SAME if is_same else Verdict.DIFFERENT


Finding = tuple[Verdict, str]
"""A verdict, and if undecided the phrase that was not understood."""
DIFFERENT: Finding = (Verdict.DIFFERENT, "")
SAME: Finding = (Verdict.SAME, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two texts that the rules do not accept as the same."""

    kind: str
    """`question`, `prompt`, `text`, `object`, `action` or `ask`."""
    wanted: str
    """The text of the goal."""
    given: str
    """The text of the plan."""
    why: str
    """The phrase that was not understood, as a sentence without a full stop."""
    refused: bool = False
    """Whether the rules take them for different, which only `SAME` overturns. Else they are undecided."""


Settle = Callable[[Pair], Verdict]
"""Settles a pair that the rules do not accept, or returns `UNDECIDED`."""


def leave_undecided(pair: Pair) -> Verdict:  # noqa: ARG001 - the same for every pair
    """Settle no pair: the rules alone decide."""
    return Verdict.UNDECIDED


def every(verdicts: Iterable[Verdict]) -> Verdict:
    """The lowest verdict; stops at the first DIFFERENT."""
    lowest = Verdict.SAME
    for verdict in verdicts:
        lowest = min(lowest, verdict)
        if lowest is Verdict.DIFFERENT:
            break
    return lowest


def some(verdicts: Iterable[Verdict]) -> Verdict:
    """The highest verdict; stops at the first SAME."""
    highest = Verdict.DIFFERENT
    for verdict in verdicts:
        highest = max(highest, verdict)
        if highest is Verdict.SAME:
            break
    return highest
