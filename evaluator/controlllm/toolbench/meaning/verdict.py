"""Three-valued verdicts on pairs of texts (Kleene's strong logic)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum


class Verdict(IntEnum):
    """Whether two texts mean the same. Ordered, so that `min` is "and" and `max` is "or"."""

    DIFFERENT = 0
    UNDECIDED = 1
    """The rules do not know."""
    SAME = 2

    @staticmethod
    def of(is_same: bool) -> "Verdict":
        """The verdict that a decided rule gives."""
        return Verdict.SAME if is_same else Verdict.DIFFERENT


Finding = tuple[Verdict, str]
"""A verdict, and where it is undecided which phrase was not understood."""
DIFFERENT: Finding = (Verdict.DIFFERENT, "")
SAME: Finding = (Verdict.SAME, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two texts on which the rules are undecided."""

    kind: str
    """`question`, `prompt`, `object` or `action`."""
    wanted: str
    """What the request wants."""
    given: str
    """What the plan says."""
    why: str
    """Which phrase was not understood, as a sentence without a full stop."""


Settle = Callable[[Pair], Verdict]
"""Settles a pair on which the rules are undecided; `UNDECIDED` leaves it so."""


def leave_undecided(pair: Pair) -> Verdict:  # noqa: ARG001 - it settles none
    """Settle no pair: the rules alone decide."""
    return Verdict.UNDECIDED


def every(verdicts: Iterable[Verdict]) -> Verdict:
    """SAME if all are; DIFFERENT as soon as one is."""
    found = Verdict.SAME
    for verdict in verdicts:
        found = min(found, verdict)
        if found is Verdict.DIFFERENT:
            break
    return found


def some(verdicts: Iterable[Verdict]) -> Verdict:
    """SAME as soon as one is; DIFFERENT if all are."""
    found = Verdict.DIFFERENT
    for verdict in verdicts:
        found = max(found, verdict)
        if found is Verdict.SAME:
            break
    return found
