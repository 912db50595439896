"""Causes as filters name them, and how many tasks of an evaluation have each. No database."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from evaluator.core.records import Outcome
from evaluator.scoring.causes.taxonomy import Cause

NOT_FOUND = "not_found_yet"
"""Value of the filter `why` for tasks whose causes are not known."""
RAN = frozenset({Outcome.SCORED, Outcome.PLANNER_FAULT, Outcome.INFRA_FAULT})
"""Outcomes that have causes; tasks that never ran have none."""
WHY = "Why below gold"
"""Label of the filter `why`."""
VALUES = (*Cause, NOT_FOUND)
"""Values of the filter, in the order in which they are listed."""
_PLACES: Mapping[str, int] = {str(value): place for place, value in enumerate(VALUES)}


class CauseBar(NamedTuple):
    """The tasks with one cause."""

    cause: str
    """The value of the filter `why`."""
    label: str
    definition: str
    tasks: int
    share: float
    """Of the tasks that ran, in (0, 1]."""

    @property
    def percent(self) -> str:
        """The share in whole per cent."""
        return percent(self.share)


class CauseBars(NamedTuple):
    """The causes of an evaluation's tasks, the most frequent first."""

    bars: tuple[CauseBar, ...]
    ran: int
    """Tasks that ran."""
    below: int
    """Those with a known cause; a task may have several."""
    at_gold: int
    """Those at the gold score."""
    unknown: int
    """Those whose causes are not found yet."""


def percent(share: float) -> str:
    """A share in whole per cent; a share that would round to zero reads as less than one."""
    return f"{100 * share:.0f}" if not 0 < share < 0.005 else "< 1"


def codes_of(kept: Sequence[Mapping[str, Any]] | None) -> tuple[str, ...] | None:
    """The causes of a row, each once, in the order in which they are listed; None if not found yet.

    Causes that this release does not know are left out: another one wrote them.
    """
    if kept is None:
        return None
    return ordered(str(one.get("cause")) for one in kept)


def ordered(codes: Iterable[str]) -> tuple[str, ...]:
    """Known causes, each once, in the order in which they are listed."""
    return tuple(sorted(set(codes) & _PLACES.keys(), key=_PLACES.__getitem__))


def why(*, kept: Sequence[Mapping[str, Any]] | None, outcome: str) -> tuple[str, ...]:
    """The values of the filter `why` of a row."""
    codes = codes_of(kept)
    if codes is not None:
        return codes
    return (NOT_FOUND,) if outcome in RAN else ()


def place_of_cause(value: str) -> int:
    """The place of a value of the filter `why`; what is no cause is last."""
    return _PLACES.get(value, len(_PLACES))


def words_of_cause(value: str) -> str:
    """A value of the filter `why` as people read it."""
    if value == NOT_FOUND:
        return "Not found yet"
    words = Cause(value).label if value in _PLACES else value
    return words[:1].upper() + words[1:]


def cause_bars(tasks: Iterable[tuple[str, tuple[str, ...]]]) -> CauseBars:
    """Count the causes of tasks.

    Args:
        tasks: of each its outcome, and its values of the filter `why`.
    """
    ran = [codes for outcome, codes in tasks if outcome in RAN]
    counts = Counter(code for codes in ran for code in codes)
    unknown = counts.pop(NOT_FOUND, 0)
    found = sorted(counts.items(), key=lambda pair: (-pair[1], place_of_cause(pair[0])))
    return CauseBars(
        bars=tuple(
            CauseBar(code, words_of_cause(code), Cause(code).definition, count, count / len(ran))
            for code, count in found
        ),
        ran=len(ran),
        below=sum(bool(codes) for codes in ran) - unknown,
        at_gold=sum(not codes for codes in ran),
        unknown=unknown,
    )
