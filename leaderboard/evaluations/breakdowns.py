"""Mean scores of an executed evaluation by properties of its tasks. No database."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from evaluator.metrics.paired import bootstrap_columns
from evaluator.metrics.statistics import Interval
from leaderboard.evaluations.task_filters import TaskRow, language_in_words, steps_in_words

FEWEST = 2
"""Values that a property must have to be worth a table."""


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
    def bar(self) -> Mapping[str, float]:
        """The interval as the bars of the site take it."""
        return {"mean": self.interval.mean, "low": self.interval.low, "high": self.interval.high}


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
    facets = {
        "base": ("Base task", [(row.base,) if row.base else () for row in scored]),
        "structure": ("Structure", [(row.structure,) if row.structure else () for row in scored]),
        "degradation": ("Degradation", [row.degradations for row in scored]),
        "language": ("Language", [(row.language,) if row.language else () for row in scored]),
        "steps": ("Gold plan", [(row.steps,) if row.steps else () for row in scored]),
    }
    groups = [(facet, value) for facet, (_, values) in facets.items() for value in _ordered(facet=facet, values=values)]
    if not groups:
        return ()
    table = np.full((len(scored), len(groups)), np.nan)
    for column, (facet, value) in enumerate(groups):
        for place, (row, values) in enumerate(zip(scored, facets[facet][1], strict=True)):
            if value in values:
                table[place, column] = row.score
    intervals = dict(zip(groups, bootstrap_columns(table), strict=True))
    found = []
    for facet, (label, values) in facets.items():
        shown = tuple(
            ScoreRow(
                value=value,
                words=_words(facet=facet, value=value),
                interval=interval,
                faults=sum(
                    row.outcome == "planner_fault" and value in some for row, some in zip(scored, values, strict=True)
                ),
            )
            for value in _ordered(facet=facet, values=values)
            if (interval := intervals[facet, value]) is not None
        )
        if len(shown) >= FEWEST:
            found.append(ScoreBreakdown(facet=facet, label=label, rows=shown))
    return tuple(found)


def _ordered(*, facet: str, values: Sequence[Sequence[str]]) -> list[str]:
    """Numbers of steps in their order, all others as they are first met in the suite."""
    found = list(dict.fromkeys(value for some in values for value in some))
    return sorted(found, key=int) if facet == "steps" else found


def _words(*, facet: str, value: str) -> str:
    words = {"language": language_in_words, "steps": steps_in_words}.get(facet)
    return words(value) if words else ""
