"""Scores, intervals, indicators and outcomes as pages show them. No database.

A value is `{"mean", "low", "high", "tasks"}`, perhaps with what `evaluator.scoring.metrics.undecided.ranged` adds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from evaluator.core.records import Outcome
from evaluator.core.suites.base import Column
from evaluator.scoring.metrics.statistics import Interval, ends_of, wilson
from evaluator.scoring.metrics.undecided import range_text


def score(value: float | None) -> str:
    """A score with three decimals."""
    return "—" if value is None else f"{value:.3f}"


def value_of(found: Interval) -> dict[str, float | None]:
    """An interval as a value."""
    return {"mean": found.mean, "low": found.low, "high": found.high, "tasks": found.count}


def figure(value: Mapping[str, Any] | None) -> str:
    """A mean, or its range where tasks are undecided."""
    return "—" if value is None else range_text(value)


def interval_ends(value: Mapping[str, Any]) -> tuple[float, float] | None:
    """The ends of a value's 95 % interval; None over too few independent values."""
    return ends_of(low=value.get("low"), high=value.get("high"))


def interval_words(value: Mapping[str, Any] | None) -> str:
    """The 95 % interval in words; empty if there is none."""
    ends = interval_ends(value or {})
    return "" if ends is None else f"95 % interval {score(ends[0])} to {score(ends[1])}"


OUTCOMES = {
    "scored": "Scored",
    "empty_plan": "Empty plan",
    "planner_fault": "Planner fault",
    "infra_fault": "Infrastructure fault",
    "not_run": "Not run",
    "cancelled": "Cancelled",
    "pending": "Waiting",
}
"""Badges in words, in the order in which they are always shown."""
EMPTY_PLAN = "empty_plan"
"""A badge, not an outcome: the plan of a scored task has no steps. Counts and filters use "scored"."""


def badge_of(*, outcome: str, plan_summary: str) -> str:
    """The badge of a task: its outcome, or `EMPTY_PLAN`.

    Args:
        outcome: of the result, or `pending`.
        plan_summary: the plan's tools; empty if it has no steps.
    """
    return EMPTY_PLAN if outcome == Outcome.SCORED and not plan_summary else outcome


def sentence_in_place_of_steps(
    *, plan: Mapping[str, Any], outcome: str, judged: bool, abstained: bool = False, is_right: bool = False
) -> str:
    """The sentence in place of the drawing of a plan without steps; empty if it has some.

    Args:
        plan: as it was read, `plan/1`.
        outcome: of the task.
        judged: whether the suite judges plans and executes none.
        abstained: whether the planner said that no plan can meet the request.
        is_right: whether no plan can, so that a plan without steps is right.
    """
    if plan.get("steps"):
        return ""
    said = "The planner answered with a plan that has no steps."
    if not plan.get("answers"):
        said = "The planner abstained." if abstained else "The planner abstained: its plan has no steps and no answers."
    if outcome != Outcome.SCORED:
        return said
    if is_right:
        return f"{said} That is right: no tool can meet this request."
    if judged and abstained:
        return f"{said} The request can be met, so that it counts like a missing plan."
    if judged:
        return f"{said} It counts like a missing plan: every indicator has its worst value."
    return f"{said} No tool ran: the request's own input was scored as the answer."


UNDECIDED = "undecided"
UNDECIDED_WORDS = "the rules do not know"


class Mark(NamedTuple):
    """One indicator of one plan."""

    name: str
    """In addresses."""
    value: str
    """`1` or `0`, as the board counts it: `0` if it is undecided."""
    good: bool
    words: str
    title: str
    lower_is_better: bool
    label: str
    """On pages: that of the board's column."""
    undecided: bool = False
    """Whether it is not known which of the two it is."""

    @property
    def shown(self) -> str:
        """The value as pages show it, and as filters name it: `1`, `0` or `undecided`."""
        return UNDECIDED if self.undecided else self.value

    @property
    def tone(self) -> str:
        """`good`, `bad` or `undecided`."""
        return UNDECIDED if self.undecided else "good" if self.good else "bad"


class Share(NamedTuple):
    """Mean of an indicator over some tasks, with its interval."""

    name: str
    label: str
    interval: Interval
    """From the low of Wilson's interval with all undecided tasks counted as 0 to its high with all counted as 1."""
    lower_is_better: bool
    undecided: float = 0.0
    """Share of the tasks on which it is undecided; they count 0 in the mean."""

    @property
    def bar(self) -> Mapping[str, Any]:
        """The interval as the tags of the site take it, with what is undecided."""
        found: dict[str, Any] = {**value_of(self.interval)}
        upper = self.interval.mean + self.undecided
        return {**found, "undecided": self.undecided, "upper": upper} if self.undecided else found


def mark_columns(columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns whose values are marks of a task: those with words for both values."""
    return tuple(column for column in columns if column.good)


def marks(columns: Sequence[Column], *, outcome: str, indicators: Mapping[str, float]) -> tuple[Mark, ...]:
    """The marks of one task, in the board's order: the worst of each for a planner's fault; empty if the task does not
    count."""
    found = []
    for column in mark_columns(columns):
        value = column.fault if outcome == Outcome.PLANNER_FAULT else indicators.get(column.key)
        if value is not None and outcome in {Outcome.PLANNER_FAULT, Outcome.SCORED}:
            undecided = outcome == Outcome.SCORED and indicators.get(column.undecided, 0.0) > 0
            found.append(_mark(column=column, value=value, undecided=undecided))
    return tuple(found)


def _mark(*, column: Column, value: float, undecided: bool) -> Mark:
    good = (value >= 0.5) == column.higher_is_better
    return Mark(
        name=column.key,
        value=f"{value:.0f}",
        good=good,
        words=UNDECIDED_WORDS if undecided else column.good if good else column.bad,
        title=column.title or column.label,
        lower_is_better=not column.higher_is_better,
        label=column.label,
        undecided=undecided,
    )


def good_marks(found: Sequence[Mark]) -> int | None:
    """How many marks are good; None where there are none."""
    return sum(mark.good for mark in found) if found else None


def shares(tasks: Sequence[Sequence[Mark]]) -> tuple[Share, ...]:
    """Means over tasks, at least one, each of which has the same marks."""
    return tuple(_share(of_all) for of_all in zip(*tasks, strict=True))


def _share(of_all: Sequence[Mark]) -> Share:
    sure, undecided = (sum(mark.value == "1" for mark in of_all), sum(mark.undecided for mark in of_all))
    highest = wilson(successes=sure + undecided, total=len(of_all))
    return Share(
        name=of_all[0].name,
        label=of_all[0].label,
        interval=replace(wilson(successes=sure, total=len(of_all)), high=highest.high),
        lower_is_better=of_all[0].lower_is_better,
        undecided=undecided / len(of_all),
    )
