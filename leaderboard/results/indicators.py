"""Yes-or-no values of a plan, as marks on its task and as shares of groups of tasks. No database."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from evaluator.metrics.statistics import Interval, wilson
from evaluator.records import Outcome
from evaluator.suites.base import Column


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
        found = self.interval
        return {"mean": found.mean, "low": found.low, "high": found.high, "tasks": found.count}


class BreakdownRow(NamedTuple):
    """The figures of one level or group."""

    value: str
    """What the filter of this row's facet takes."""
    count: int  # type: ignore[assignment]  # hides tuple.count, which nothing calls
    shares: tuple[Share, ...]


class Breakdown(NamedTuple):
    """A table by one property of the tasks."""

    facet: str
    label: str
    rows: tuple[BreakdownRow, ...]


def mark_columns(columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns whose values are marks of a task: those with words for both values."""
    return tuple(column for column in columns if column.good)


def marks(columns: Sequence[Column], *, outcome: str, indicators: Mapping[str, float]) -> tuple[Mark, ...]:
    """The marks of one task, in the board's order.

    A planner's fault counts as the board counts it, the worst of each; empty if the task does not count.
    """
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


def breakdown(
    *, facet: str, label: str, tasks: Iterable[tuple[str, Sequence[Mark]]], order: Sequence[str] = ()
) -> Breakdown:
    """Group tasks, given as (value of the facet, marks), by the facet. Tasks without either are left out.

    Rows come in `order`; values that it does not name follow as they occur first.
    """
    groups: dict[str, list[Sequence[Mark]]] = {value: [] for value in order}
    for value, found in tasks:
        if value and found:
            groups.setdefault(value, []).append(found)
    rows = tuple(
        BreakdownRow(value=value, count=len(members), shares=_shares(members))
        for value, members in groups.items()
        if members
    )
    return Breakdown(facet=facet, label=label, rows=rows)


def _shares(tasks: Sequence[Sequence[Mark]]) -> tuple[Share, ...]:
    """Means over tasks, at least one, each of which has the same marks."""
    return tuple(
        Share(
            name=of_all[0].name,
            interval=wilson(successes=sum(mark.value == "1" for mark in of_all), total=len(of_all)),
            lower_is_better=of_all[0].lower_is_better,
        )
        for of_all in zip(*tasks, strict=True)
    )
