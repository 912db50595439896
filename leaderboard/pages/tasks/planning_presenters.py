"""What the task page shows of suites that judge plans: what was wanted, and why each indicator is what it is."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evaluator.records import Outcome, ResultRecord
from evaluator.suites.base import Column, IntervalMethod, Panel
from evaluator.suites.toolbench.released.defects import RULES
from evaluator.suites.toolbench.suite import ToolTask
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.gold import open_attributes
from leaderboard.results.indicators import Mark, marks

_STEP = re.compile(r"\bstep (\d+) \(")
WRONG_TYPE = "Wrong type"
_STEP_PROBLEMS = (("IR", "Irrelevant"), ("CR", WRONG_TYPE), ("HR", "False resource"))
"""Indicators whose reasons name steps, the most telling last."""


class IndicatorReason(NamedTuple):
    """An indicator with its reasons, one sentence each."""

    mark: Mark
    reasons: tuple[str, ...]


class GivenFile(NamedTuple):
    """A file of the request and what it may be used as."""

    name: str
    types: str


class Defect(NamedTuple):
    """Something that is wrong with the entry itself."""

    name: str
    sentence: str
    excludes: bool


class CallLine(NamedTuple):
    """A step as text."""

    id: str
    tool: str
    arguments: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]


class PlanningPage(NamedTuple):
    """The part of the task page that only suites that judge plans have."""

    shows_goal: bool
    """Whether the suite says what its requests want."""
    shows_gold: bool
    """Whether the reader may see what the request wants; if not, `goal`, `uncovered`, `defects`, `gold_calls` and the
    reasons are empty."""
    goal: tuple[str, ...]
    uncovered: str
    files: tuple[GivenFile, ...] | None
    """None where this release does not know the task as it was registered."""
    defects: tuple[Defect, ...]
    reasons: tuple[IndicatorReason, ...]
    nothing_judged: bool
    """There is no plan, which counts as the worst of each indicator."""
    further: tuple[tuple[str, str], ...]
    calls: tuple[CallLine, ...]
    gold_calls: tuple[CallLine, ...]


def planning_page(
    *, task: Task, library_task: object, record: ResultRecord | None, outcome: str, shows_gold: bool = True
) -> PlanningPage:
    """Gather it from the registered task, the library's task (for its files) and the record, if there is one.

    The outcome is the result's: an infrastructure fault that its owner accepted counts as the planner's.
    """
    attributes: Mapping[str, Any] = task.attributes if shows_gold else open_attributes(task.attributes)
    parts = tuple(str(part) for part in attributes.get("parts") or ())
    plan = record.plan if record is not None and isinstance(record.plan, dict) else {}
    indicators = record.indicators if record is not None else {}
    return PlanningPage(
        shows_goal=task.suite.has(Panel.GOAL),
        shows_gold=shows_gold,
        goal=parts,
        uncovered=str(attributes.get("uncovered") or ""),
        files=_files(library_task),
        defects=defects(attributes.get("flags") or ()),
        reasons=_reasons(suite=task.suite, record=record, outcome=outcome, parts=parts),
        nothing_judged=outcome == Outcome.PLANNER_FAULT,
        further=tuple(
            (column.title or column.label, _figure(column, indicators[column.key]))
            for column in task.suite.columns
            if column.ordered and not column.good and column.key in indicators
        ),
        calls=calls(plan),
        gold_calls=calls(task.gold or {}) if shows_gold else (),
    )


def defects(flags: Sequence[str]) -> tuple[Defect, ...]:
    """Flags in words; one that this release does not know is shown as it is."""
    rules = {rule.name: rule for rule in RULES}
    return tuple(
        Defect(name=flag, sentence=rules[flag].description, excludes=rules[flag].excludes)
        if flag in rules
        else Defect(name=flag, sentence="", excludes=False)
        for flag in flags
    )


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


def step_problems(record: ResultRecord) -> dict[str | None, str]:
    """Ids of the steps that an indicator's reason names, with a few words: they are marked in the drawing."""
    plan: dict[str, Any] = record.plan if isinstance(record.plan, dict) else {}
    ids = [step["id"] for step in plan.get("steps") or ()]
    found: dict[str | None, str] = {}
    for name, words in _STEP_PROBLEMS:
        if record.indicators.get(name) == (name != "CR"):
            numbers = [int(number) for number in _STEP.findall(record.explanations.get(name, ""))]
            found |= {ids[number - 1]: words for number in numbers if 0 < number <= len(ids)}
    return found


def _figure(column: Column, value: float) -> str:
    return ("yes" if value else "no") if column.interval is IntervalMethod.WILSON else f"{value:.3f}"


def _files(library_task: object) -> tuple[GivenFile, ...] | None:
    if not isinstance(library_task, ToolTask):
        return None
    return tuple(GivenFile(name=name, types=" or ".join(sorted(kinds))) for name, kinds in library_task.files.items())


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
