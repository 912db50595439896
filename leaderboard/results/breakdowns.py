"""Mean scores of an executed evaluation by properties of its tasks. No database."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from evaluator.metrics.paired import bootstrap_columns
from evaluator.metrics.statistics import Interval
from leaderboard.results.task_filters import TaskRow, language_in_words, steps_in_words

FEWEST = 2
"""Values that a property must have to be worth a table."""


def _one(name: str) -> Callable[[TaskRow], tuple[str, ...]]:
    def values(row: TaskRow) -> tuple[str, ...]:
        value = getattr(row, name)
        return (value,) if value else ()

    return values


_FACETS: Mapping[str, tuple[str, Callable[[TaskRow], tuple[str, ...]]]] = {
    "structure": ("Structure", _one("structure")),
    "degradation": ("Degradation", lambda row: row.degradations),
    "modality": ("Modality", _one("modality")),
    "language": ("Language", _one("language")),
    "steps": ("Difficulty", _one("steps")),
    "level": ("Difficulty", _one("level")),
    "base": ("Group: base task", _one("base")),
    "group": ("Group", _one("group")),
}
"""Label and values by the filter that a row's link sets."""


class ScoreRow(NamedTuple):
    """The tasks of one group."""

    value: str
    """What the filter of the table's facet takes."""
    words: str
    """Empty where the value itself says it."""
    interval: Interval
    faults: int
    """Planner's faults among them, which count with a score of 0."""

    @property
    def bar(self) -> Mapping[str, float | None]:
        """The interval as the tags of the site take it."""
        found = self.interval
        return {"mean": found.mean, "low": found.low, "high": found.high, "tasks": found.count}


class ScoreBreakdown(NamedTuple):
    """A table by one property of the tasks."""

    facet: str
    label: str
    rows: tuple[ScoreRow, ...]


def score_breakdowns(rows: Sequence[TaskRow]) -> tuple[ScoreBreakdown, ...]:
    """Mean score with a 95 % interval for each value of each property, over the tasks that have a score.

    A task with two degradations is in two groups. Properties that all tasks share are left out.
    """
    scored = [row for row in rows if row.score is not None]
    facets = {facet: (label, [values(row) for row in scored]) for facet, (label, values) in _FACETS.items()}
    groups = [(facet, value) for facet, (_, values) in facets.items() for value in _ordered(facet=facet, values=values)]
    if not groups:
        return ()
    intervals = dict(zip(groups, bootstrap_columns(_table(scored=scored, groups=groups, facets=facets)), strict=True))
    found = []
    for facet, (label, values) in facets.items():
        shown = tuple(
            _score_row(facet=facet, value=value, interval=interval, rows=scored, values=values)
            for value in _ordered(facet=facet, values=values)
            if (interval := intervals[facet, value]) is not None
        )
        if len(shown) >= FEWEST:
            found.append(ScoreBreakdown(facet=facet, label=label, rows=shown))
    return tuple(found)


def _table(
    *,
    scored: Sequence[TaskRow],
    groups: Sequence[tuple[str, str]],
    facets: Mapping[str, tuple[str, Sequence[Sequence[str]]]],
) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """Scores of shape (tasks, groups), NaN where a task is not in a group."""
    columns = {group: column for column, group in enumerate(groups)}
    table = np.full((len(scored), len(groups)), np.nan)
    for facet, (_, values) in facets.items():
        for place, (row, some) in enumerate(zip(scored, values, strict=True)):
            for value in some:
                table[place, columns[facet, value]] = row.score
    return table


def _score_row(
    *, facet: str, value: str, interval: Interval, rows: Sequence[TaskRow], values: Sequence[Sequence[str]]
) -> ScoreRow:
    faults = sum(row.outcome == "planner_fault" and value in some for row, some in zip(rows, values, strict=True))
    return ScoreRow(value=value, words=_words(facet=facet, value=value), interval=interval, faults=faults)


def _ordered(*, facet: str, values: Sequence[Sequence[str]]) -> list[str]:
    """Numbers of steps in their order, all others as they are first met in the suite."""
    found = list(dict.fromkeys(value for some in values for value in some))
    return sorted(found, key=int) if facet == "steps" else found


def _words(*, facet: str, value: str) -> str:
    words = {"language": language_in_words, "steps": steps_in_words}.get(facet)
    if facet == "modality":
        return value
    return words(value) if words else ""
