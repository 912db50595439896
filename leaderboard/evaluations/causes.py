"""Causes of scores below the gold score without a database: read from rows, counted for filters, and restricted to what
a reader may see. `finding_causes.py` finds them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from evaluator.core.records import Outcome
from evaluator.scoring.causes.of_records import finding_of_fault
from evaluator.scoring.causes.taxonomy import Cause, Finding
from leaderboard.evaluations.withheld import Withheld

_OF_THE_PLAN = frozenset(
    {
        Cause.MISSING_STEP, Cause.EXTRA_STEP, Cause.WRONG_TOOL, Cause.WRONG_INPUT, Cause.WRONG_ORDER,
        Cause.TYPE_CONFLICT, Cause.WRONG_LITERAL, Cause.WRONG_ANSWERS, Cause.INVENTED_TOOL, Cause.INVENTED_RESOURCE,
        Cause.INVALID,
    }
)  # fmt: skip
"""Causes whose findings quote only the plan. Others may quote an answer, a reply or data."""


def read_findings(stored: Sequence[Mapping[str, Any]] | None, *, withheld: Withheld) -> tuple[Finding, ...] | None:
    """The findings of a row that a reader may see, most important first; None if they are not known yet.

    If the plan is withheld, only the causes remain. If gold plans are, findings quote only the planner's own plan.
    Duplicates are dropped, because their number would reveal how many steps a gold plan has.
    """
    if stored is None:
        return None
    visible: dict[Finding, None] = {}
    for item in stored:
        try:
            finding = Finding.from_json(item)
        except (ValueError, KeyError):
            # Written by another release.
            continue
        if withheld.plan:
            finding = Finding(cause=finding.cause)
        elif withheld.gold:
            finding = finding.without_reference()
        if not withheld.plan and withheld.data and finding.cause not in _OF_THE_PLAN:
            finding = replace(finding, wanted=None, given=None, where=None)
        visible[finding] = None
    return tuple(visible)


def main_finding(
    *, stored: Sequence[Mapping[str, Any]] | None, outcome: str, reason: str, reason_text: str, withheld: Withheld
) -> Finding | None:
    """The main cause of a row that a reader may see; None at the gold score, and if it is not known.

    Faults that have no stored cause, or whose message is withheld with the data, are described by their reason.
    """
    visible = next(iter(read_findings(stored, withheld=withheld) or ()), None)
    has_none = stored is not None and not stored
    if outcome not in _FAULTS or has_none or (visible is not None and visible.given is not None):
        return visible if outcome in RAN else None
    fault = finding_of_fault(outcome=outcome, reason=reason, text=reason_text)
    return fault if visible is None else replace(visible, given=fault.given)


NOT_FOUND = "not_found_yet"
"""Value of the filter `why` for tasks whose causes are not known."""
RAN = frozenset({Outcome.SCORED, Outcome.PLANNER_FAULT, Outcome.INFRA_FAULT})
"""Outcomes with causes; tasks that never ran have none."""
_FAULTS = frozenset({Outcome.PLANNER_FAULT, Outcome.INFRA_FAULT})
WHY = "Why below gold"
"""Label of the filter `why`."""
VALUES = (*Cause, NOT_FOUND)
"""Values of the filter in display order."""
_PLACES: Mapping[str, int] = {str(value): place for place, value in enumerate(VALUES)}


class CauseBar(NamedTuple):
    """The tasks with one cause."""

    cause: str
    """The value of the filter `why`."""
    label: str
    definition: str
    tasks: int
    share: float
    """Share of the tasks that ran, in (0, 1]."""

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
    """Tasks with a known cause; a task may have several."""
    at_gold: int
    """Tasks at the gold score."""
    unknown: int
    """Tasks whose causes are not known yet."""


def percent(share: float) -> str:
    """A share as a percentage without decimals; "< 1" if it would round to zero."""
    return f"{100 * share:.0f}" if not 0 < share < 0.005 else "< 1"


def ordered(codes: Iterable[str]) -> tuple[str, ...]:
    """The known causes among the codes, without duplicates, in display order."""
    return tuple(sorted(set(codes) & _PLACES.keys(), key=_PLACES.__getitem__))


def why(*, stored: Sequence[Mapping[str, Any]] | None, outcome: str) -> tuple[str, ...]:
    """The values of the filter `why` of a row, without causes that only other releases know."""
    if stored is not None:
        return ordered(str(item.get("cause")) for item in stored)
    return (NOT_FOUND,) if outcome in RAN else ()


def place_of_cause(value: str) -> int:
    """The position of a value of the filter `why`; unknown values are last."""
    return _PLACES.get(value, len(_PLACES))


def words_of_cause(value: str) -> str:
    """The label of a value of the filter `why`."""
    if value == NOT_FOUND:
        return "Not found yet"
    words = Cause(value).label if value in _PLACES else value
    return words[:1].upper() + words[1:]


def cause_bars(tasks: Iterable[tuple[str, tuple[str, ...]]]) -> CauseBars:
    """Count the causes of tasks.

    Args:
        tasks: outcome of each task, and its values of the filter `why`.
    """
    ran = [codes for outcome, codes in tasks if outcome in RAN]
    counts = Counter(code for codes in ran for code in codes)
    unknown = counts.pop(NOT_FOUND, 0)
    most_frequent = sorted(counts.items(), key=lambda pair: (-pair[1], place_of_cause(pair[0])))
    return CauseBars(
        bars=tuple(
            CauseBar(code, words_of_cause(code), Cause(code).definition, count, count / len(ran))
            for code, count in most_frequent
        ),
        ran=len(ran),
        below=sum(bool(codes) for codes in ran) - unknown,
        at_gold=sum(not codes for codes in ran),
        unknown=unknown,
    )
