"""The five indicators of suites that judge plans: their words, and the means of groups of tasks. No database."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from evaluator.metrics.planning import INDICATORS, LOWER_IS_BETTER
from evaluator.metrics.statistics import Interval, wilson
from evaluator.records import Outcome

ORDER = ("SE", *(name for name in INDICATORS if name != "SE"))
"""The board's primary figure first, then the paper's order."""


class Meaning(NamedTuple):
    """An indicator in words."""

    title: str
    good: str
    bad: str


MEANINGS: Mapping[str, Meaning] = {
    "SE": Meaning("Solution", "solves the request", "does not solve it"),
    "IR": Meaning("Irrelevant tools", "none irrelevant", "irrelevant tool"),
    "NR": Meaning("Necessary tools", "holds them all", "lacks a tool"),
    "HR": Meaning("False resources", "none false", "false resource"),
    "CR": Meaning("Types of arguments", "types agree", "wrong type"),
}


class Mark(NamedTuple):
    """One indicator of one plan."""

    name: str
    value: str
    """`1` or `0`, as the paper counts it."""
    good: bool
    words: str
    title: str


class Share(NamedTuple):
    """Mean of an indicator over some tasks, with its Wilson interval."""

    name: str
    interval: Interval

    @property
    def bar(self) -> Mapping[str, float | None]:
        """The interval as the tags of the site take it."""
        found = self.interval
        return {"mean": found.mean, "low": found.low, "high": found.high, "tasks": found.count}


class BreakdownRow(NamedTuple):
    """The figures of one level or group."""

    value: str
    """What the filter of this row's facet takes."""
    count: int
    shares: tuple[Share, ...]


class Breakdown(NamedTuple):
    """A table by one property of the tasks."""

    facet: str
    label: str
    rows: tuple[BreakdownRow, ...]


def counted_values(*, outcome: str, indicators: Mapping[str, float]) -> dict[str, float]:
    """The five indicators as the board counts them: a planner's fault is the worst of each; empty if not counted."""
    if outcome == Outcome.PLANNER_FAULT:
        return {name: 1.0 if name in LOWER_IS_BETTER else 0.0 for name in ORDER}
    if outcome == Outcome.SCORED:
        return {name: float(indicators[name]) for name in ORDER if name in indicators}
    return {}


def is_good(name: str, value: float) -> bool:
    """Whether this is the better of an indicator's two values."""
    return (value < 0.5) == (name in LOWER_IS_BETTER)


def words_of(name: str, value: float) -> str:
    """A value in words."""
    meaning = MEANINGS[name]
    return meaning.good if is_good(name, value) else meaning.bad


def marks(values: Mapping[str, float]) -> tuple[Mark, ...]:
    """The marks of one plan, in the order in which they are always shown."""
    return tuple(
        Mark(
            name=name,
            value=f"{values[name]:.0f}",
            good=is_good(name, values[name]),
            words=words_of(name, values[name]),
            title=MEANINGS[name].title,
        )
        for name in ORDER
        if name in values
    )


def good_marks(values: Mapping[str, float]) -> int | None:
    """How many indicators are good; None where nothing was judged."""
    return sum(is_good(name, value) for name, value in values.items()) if values else None


def shares(values: Sequence[Mapping[str, float]]) -> tuple[Share, ...]:
    """Means over tasks, at least one, each of which has all five indicators."""
    found = []
    for name in ORDER:
        interval = wilson(successes=sum(value[name] >= 0.5 for value in values), total=len(values))
        found.append(Share(name=name, interval=interval))
    return tuple(found)


def breakdown(
    *, facet: str, label: str, tasks: Iterable[tuple[str, Mapping[str, float]]], order: Sequence[str] = ()
) -> Breakdown:
    """Group tasks, given as (value of the facet, counted indicators), by the facet. Tasks without either are left out.

    Rows come in `order`; values that it does not name follow as they occur first.
    """
    groups: dict[str, list[Mapping[str, float]]] = {value: [] for value in order}
    for value, indicators in tasks:
        if value and len(indicators) == len(ORDER):
            groups.setdefault(value, []).append(indicators)
    rows = tuple(
        BreakdownRow(value=value, count=len(members), shares=shares(members))
        for value, members in groups.items()
        if members
    )
    return Breakdown(facet=facet, label=label, rows=rows)
