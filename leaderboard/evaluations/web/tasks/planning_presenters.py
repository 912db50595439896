"""The task page of suites that judge plans: the goal, and the reasons of each indicator."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evaluator.core.records import Outcome, ResultRecord, TextPair
from evaluator.core.suites.base import EXACT, Column, Defect, IntervalMethod, Panel, StepProblem
from evaluator.core.suites.base import Suite as LibrarySuite
from evaluator.core.suites.base import Task as LibraryTask
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.gold import open_attributes
from leaderboard.evaluations.results.indicators import Mark, marks
from leaderboard.evaluations.results.provenance import arbiter_words

_STEP = re.compile(r"\bstep (\d+) \(")


class IndicatorReason(NamedTuple):
    """An indicator with its reasons, one sentence each."""

    mark: Mark
    reasons: tuple[str, ...]


class GivenFile(NamedTuple):
    """A file of the request and what it may be used as."""

    name: str
    types: str


class CallLine(NamedTuple):
    """A step as text."""

    id: str
    tool: str
    arguments: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]


class PlanningPage(NamedTuple):
    """The part of the task page that only suites that judge plans have."""

    shows_goal: bool
    """Whether the suite has goals."""
    shows_gold: bool
    """Whether the reader may see the goal; if not, `goal`, `uncovered`, `defects`, `gold_calls` and the
    reasons are empty."""
    goal: tuple[str, ...]
    uncovered: str
    files: tuple[GivenFile, ...] | None
    """None where this release does not know the task as it was registered."""
    defects: tuple[Defect, ...]
    reasons: tuple[IndicatorReason, ...]
    nothing_judged: bool
    """Whether there is no plan, which counts as the worst of each indicator."""
    pairs: tuple[TextPair, ...]
    """The texts on which the rules are undecided; empty for readers who may not see the goal."""
    by_rules: str
    """What the rules alone say, where an arbiter was asked; else empty."""
    arbiter: str
    """Who was asked about the pairs; empty if nobody was."""
    further: tuple[tuple[str, str], ...]
    calls: tuple[CallLine, ...]
    gold_calls: tuple[CallLine, ...]


def planning_page(
    *, task: Task, library: LibraryTask | None, defined: Sequence[Defect], record: ResultRecord | None, outcome: str,
    shows_gold: bool = True,
) -> PlanningPage:  # fmt: skip
    """Gather it from the registered task and the record, if there is one.

    Args:
        library: the task in this release, for the types of its files; None if it is unknown or another one.
        defined: the defects that the suite describes.
        outcome: the result's: an infrastructure fault that its owner accepted counts as the planner's.
    """
    attributes = task.attributes if shows_gold else open_attributes(task.attributes, suite=task.suite)
    parts = tuple(str(part) for part in attributes.get("parts") or ())
    plan = record.plan if record is not None and isinstance(record.plan, dict) else {}
    indicators = record.indicators if record is not None else {}
    return PlanningPage(
        shows_goal=task.suite.has(Panel.GOAL),
        shows_gold=shows_gold,
        goal=parts,
        uncovered=str(attributes.get("uncovered") or ""),
        files=None if library is None else _files(library),
        defects=defects(attributes.get("flags") or (), defined=defined),
        reasons=_reasons(suite=task.suite, record=record, outcome=outcome, parts=parts),
        nothing_judged=outcome == Outcome.PLANNER_FAULT,
        pairs=tuple(record.pairs) if record is not None and shows_gold else (),
        by_rules=_by_rules(suite=task.suite, record=record),
        arbiter=arbiter_words(record.arbiter) if record is not None and record.arbiter else "",
        further=further_figures(suite=task.suite, indicators=indicators),
        calls=calls(plan),
        gold_calls=calls(task.gold or {}) if shows_gold else (),
    )


def further_figures(*, suite: Suite, indicators: Mapping[str, float]) -> tuple[tuple[str, str], ...]:
    """The indicators that are no marks of a task, with their names, in the order of the suite's columns."""
    return tuple(
        (column.title or column.label, _figure(column, indicators[column.key]))
        for column in suite.shown_columns
        if column.ordered and not column.good and column.key in indicators
    )


def _by_rules(*, suite: Suite, record: ResultRecord | None) -> str:
    """The first column's range by the rules alone, where an arbiter was asked: `undecided`, `0` or `1`."""
    if record is None or not record.arbiter:
        return ""
    low, high = (record.indicators.get(key) for key in suite.ranking_column.by_rules or ("", ""))
    return "" if low is None or high is None else "undecided" if low != high else f"{low:.0f}"


def defects(flags: Sequence[str], *, defined: Sequence[Defect]) -> tuple[Defect, ...]:
    """The defects that a task is flagged with; one that this release does not know has no description."""
    known = {defect.name: defect for defect in defined}
    return tuple(known.get(flag) or Defect(name=flag, description="") for flag in flags)


def calls(plan: Mapping[str, Any]) -> tuple[CallLine, ...]:
    """The steps of a `plan/1` as text."""
    return tuple(
        CallLine(
            id=step["id"],
            tool=step["tool"],
            arguments=tuple((step.get("inputs") or {}).items()),
            outputs=tuple((step.get("outputs") or {}).items()),
        )
        for step in plan.get("steps") or ()
    )


def step_problems(*, record: ResultRecord, suite: LibrarySuite) -> dict[str | None, StepProblem]:
    """The steps that the explanation of an indicator's worse value names, by id: they are marked in the drawing."""
    plan: dict[str, Any] = record.plan if isinstance(record.plan, dict) else {}
    ids = [step["id"] for step in plan.get("steps") or ()]
    worse = {column.key: float(not column.higher_is_better) for column in suite.metrics}
    found: dict[str | None, StepProblem] = {}
    for problem in suite.step_problems:
        if record.indicators.get(problem.indicator) == worse[problem.indicator]:
            numbers = map(int, _STEP.findall(record.explanations.get(problem.indicator, "")))
            found |= {ids[number - 1]: problem for number in numbers if 0 < number <= len(ids)}
    return found


def _figure(column: Column, value: float) -> str:
    is_binary = column.interval is IntervalMethod.WILSON or column.key == EXACT
    return ("yes" if value else "no") if is_binary else f"{value:.3f}"


def _files(task: LibraryTask) -> tuple[GivenFile, ...]:
    return tuple(GivenFile(name=name, types=" or ".join(sorted(kinds))) for name, kinds in task.types_given.items())


def _reasons(
    *, suite: Suite, record: ResultRecord | None, outcome: str, parts: Sequence[str]
) -> tuple[IndicatorReason, ...]:
    found = marks(suite.columns, outcome=outcome, indicators=record.indicators if record is not None else {})
    explanations = record.explanations if record is not None else {}
    return tuple(
        IndicatorReason(mark=mark, reasons=split_reasons(explanations.get(mark.name, ""), parts=parts))
        for mark in found
    )


def split_reasons(text: str, *, parts: Sequence[str]) -> tuple[str, ...]:
    """The reasons that the judge joined by semicolons: each begins with a step or with a part of the goal."""
    begins = "|".join([r"step \d+ \(", *(re.escape(f"{part}:") for part in parts)])
    found = (sentence.strip() for sentence in re.split(rf"; (?={begins})", text))
    return tuple(sentence[:1].upper() + sentence[1:] for sentence in found if sentence)
