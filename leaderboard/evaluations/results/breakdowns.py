"""Scores and indicators of an evaluation by properties of its tasks. No database."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from evaluator.core.records import Outcome
from evaluator.core.suites.base import Column, IntervalMethod
from evaluator.core.suites.facets import MODALITY, Facet, Facets
from evaluator.scoring.metrics.aggregate import TaskScore, interval_of
from evaluator.scoring.metrics.paired import bootstrap_columns
from evaluator.scoring.metrics.statistics import UNIT, Interval
from leaderboard.evaluations.results.figures import value_of
from leaderboard.evaluations.results.indicators import Share, shares
from leaderboard.evaluations.results.task_filters import TaskRow, place_of, words_of

FEWEST = 2
"""Values that a property must have to be worth a table."""


class ScoreRow(NamedTuple):
    """The scores of one group of tasks."""

    value: str
    """The value of the table's facet."""
    words: str
    interval: Interval
    faults: int
    """Planner's faults among them, which count with a score of 0."""

    @property
    def bar(self) -> Mapping[str, float | None]:
        """The interval as the tags of the site take it."""
        return value_of(self.interval)


class ShareRow(NamedTuple):
    """The indicators of one group of tasks."""

    value: str
    """The value of the table's facet."""
    words: str
    count: int  # type: ignore[assignment]  # hides tuple.count, which nothing calls
    shares: tuple[Share, ...]


Row = TypeVar("Row", ScoreRow, ShareRow)


class Breakdown(NamedTuple, Generic[Row]):
    """A table by one property of the tasks."""

    facet: str
    label: str
    rows: tuple[Row, ...]


def score_breakdowns(
    *,
    rows: Sequence[TaskRow],
    suite: Facets,
    method: IntervalMethod = IntervalMethod.BOOTSTRAP,
    samples: int = 1,
) -> tuple[Breakdown[ScoreRow], ...]:
    """Mean score with a 95 % interval for each value of each facet, over the tasks that have a score.

    A task with two values of a facet is in two groups. Facets that all tasks share are left out.

    Args:
        rows: the tasks.
        suite: its facets.
        method: of the column that the board ranks by.
        samples: of each task.
    """
    scored = [row for row in rows if row.score is not None]
    facets = suite.named(suite.breakdowns)
    groups = [(facet.name, value) for facet in facets for value in _as_met(facet=facet, rows=scored)]
    if not groups:
        return ()
    intervals: dict[tuple[str, str], Interval | None]
    if method.over_scenes:
        intervals = {group: _over_scenes(rows=scored, group=group, method=method, samples=samples) for group in groups}
    else:
        table = _table(scored=scored, groups=groups)
        intervals = dict(zip(groups, bootstrap_columns(table, bounds=[UNIT] * len(groups)), strict=True))
    found = []
    for facet in facets:
        shown = tuple(
            ScoreRow(value, words_of(facet)(value), interval, _faults(facet=facet, value=value, rows=scored))
            for value in _as_met(facet=facet, rows=scored)
            if (interval := intervals[facet.name, value]) is not None
        )
        if len(shown) >= FEWEST:
            found.append(Breakdown(facet.name, facet.heading or facet.label, shown))
    return tuple(found)


def _over_scenes(
    *, rows: Sequence[TaskRow], group: tuple[str, str], method: IntervalMethod, samples: int
) -> Interval | None:
    facet, value = group
    column = Column(key="", label="", description="", interval=method)
    members = [
        TaskScore(row.key, row.metric, Outcome(row.outcome), row.score, samples=row.samples)
        for row in rows
        if value in row.facets.get(facet, ())
    ]
    return interval_of(column=column, results=members, samples=samples)


def _as_met(*, facet: Facet, rows: Sequence[TaskRow]) -> list[str]:
    """Each value once: in the order of its facet, or as they are first met in the suite."""
    values = list(dict.fromkeys(value for row in rows for value in row.facets.get(facet.name, ())))
    place = place_of(facet)
    return values if place is None else sorted(values, key=place)


def _table(*, scored: Sequence[TaskRow], groups: Sequence[tuple[str, str]]) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """Scores of shape (tasks, groups), NaN where a task is not in a group."""
    columns = {group: column for column, group in enumerate(groups)}
    table = np.full((len(scored), len(groups)), np.nan)
    for place, row in enumerate(scored):
        for name, values in row.facets.items():
            for value in values:
                if (name, value) in columns:
                    table[place, columns[name, value]] = row.score
    return table


def _faults(*, facet: Facet, value: str, rows: Sequence[TaskRow]) -> int:
    return sum(row.outcome == "planner_fault" and value in row.facets.get(facet.name, ()) for row in rows)


def share_breakdowns(*, rows: Sequence[TaskRow], suite: Facets) -> tuple[Breakdown[ShareRow], ...]:
    """Mean of each indicator with Wilson's 95 % interval for each value of each facet, over the tasks that have
    indicators."""
    found = []
    for facet in suite.named(suite.breakdowns):
        groups: dict[str, list[TaskRow]] = {value: [] for value in _sorted(facet=facet, rows=rows)}
        for row in rows:
            for value in row.facets.get(facet.name, ()) if row.marks else ():
                groups[value].append(row)
        shown = tuple(
            ShareRow(value, words_of(facet)(value), len(members), shares([row.marks for row in members]))
            for value, members in groups.items()
            if members
        )
        if len(shown) >= (1 if facet.stands_alone else FEWEST):
            found.append(Breakdown(facet.name, facet.heading or facet.label, shown))
    return tuple(found)


def _sorted(*, facet: Facet, rows: Sequence[TaskRow]) -> list[str]:
    """Each value once: in the order of its facet, the most frequent modality first, all others by name."""
    counted = Counter(value for row in rows for value in row.facets.get(facet.name, ()))
    place = place_of(facet)
    if place is not None:
        return sorted(counted, key=place)
    by_count = facet.name == MODALITY.name
    return sorted(counted, key=lambda value: (-counted[value] if by_count else 0, value))
