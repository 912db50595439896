"""Binary indicators of a plan, as marks of its task and as shares of groups of tasks. No database."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evaluator.metrics.statistics import Interval, wilson
from evaluator.records import Outcome
from evaluator.suites.base import Column
from leaderboard.results.figures import value_of


class Mark(NamedTuple):
    """One indicator of one plan."""

    name: str
    value: str
    """`1` or `0`, as the board counts it."""
    good: bool
    words: str
    title: str
    lower_is_better: bool


class Share(NamedTuple):
    """Mean of an indicator over some tasks, with its Wilson interval."""

    name: str
    interval: Interval
    lower_is_better: bool

    @property
    def bar(self) -> Mapping[str, float | None]:
        """The interval as the tags of the site take it."""
        return value_of(self.interval)


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
            found.append(_mark(column=column, value=value))
    return tuple(found)


def _mark(*, column: Column, value: float) -> Mark:
    good = (value >= 0.5) == column.higher_is_better
    return Mark(
        name=column.key,
        value=f"{value:.0f}",
        good=good,
        words=column.good if good else column.bad,
        title=column.title or column.label,
        lower_is_better=not column.higher_is_better,
    )


def good_marks(found: Sequence[Mark]) -> int | None:
    """How many marks are good; None where there are none."""
    return sum(mark.good for mark in found) if found else None


def shares(tasks: Sequence[Sequence[Mark]]) -> tuple[Share, ...]:
    """Means over tasks, at least one, each of which has the same marks."""
    return tuple(
        Share(
            name=of_all[0].name,
            interval=wilson(successes=sum(mark.value == "1" for mark in of_all), total=len(of_all)),
            lower_is_better=of_all[0].lower_is_better,
        )
        for of_all in zip(*tasks, strict=True)
    )
