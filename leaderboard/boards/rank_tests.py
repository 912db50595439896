"""The paired tests that rank ranges follow from: scores are read here, `evaluator.scoring.metrics.paired` tests them.

Scores of completed evaluations never change. Each process keeps those that it has read, so that a board with one more
row reads one evaluation.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from evaluator.core.suites.base import Column
from evaluator.scoring.metrics.aggregate import table_of
from evaluator.scoring.metrics.paired import DECIMALS, RankRange, pair_tests, rank_ranges
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.results.task_scores import packed_scores
from leaderboard.platform.lru_cache import SharedCache

Table = NDArray[np.float32]
_MOST_BYTES = 256 * 2**20
"""Of cached scores per process: 1,000 planners on a season of 2,000 requests and 32 samples."""
_READ_TOGETHER = 1_300_000
"""Scores that are read in one query, and are in memory as Python's floats at once."""
Runs = Mapping[str, Sequence[str]]
"""By the evaluation that a row names: the evaluations that it is the mean of."""


class BoardScores(NamedTuple):
    """The scores of a board's rows."""

    tables: Mapping[str, Table]
    """(tasks, samples) by the evaluation that a row names, as `tables_of` gives them."""
    upper: Mapping[str, Table]
    """The same with undecided tasks counted as the better value."""
    strata: Sequence[str]
    """The metric of each task."""


class RankTests(NamedTuple):
    """The ranks that paired tests leave open on a board."""

    ranges: Mapping[str, RankRange]
    """By evaluation; those that cannot be tested are left out."""
    count: int  # type: ignore[assignment]  # hides tuple.count, which nothing calls
    """Pairs that were tested, among which Holm's method adjusts."""


_scores: SharedCache[tuple[str, Column, bool], Table] = SharedCache(
    maxsize=_MOST_BYTES, size_of=lambda table: table.nbytes
)


def scores_of(*, runs: Runs, suite: Suite, samples: int) -> BoardScores:
    """The scores of a board's rows in the metric that it ranks by.

    Args:
        runs: of the rows that have a value for this metric.
        suite: of all evaluations.
        samples: of each task, as the board's conditions say.
    """
    tasks = list(Task.objects.filter(suite=suite).order_by("position").values_list("pk", "key", "metric"))
    evaluations = [one for parts in runs.values() for one in parts]
    column = suite.ranking_column
    found = tables_of(column=column, samples=samples, evaluations=evaluations, tasks=tasks)
    tables = {row: _mean([found[one] for one in parts]) for row, parts in runs.items()}
    upper = tables
    if column.undecided:
        found = tables_of(column=column, samples=samples, evaluations=evaluations, tasks=tasks, upper=True)
        upper = {row: _mean([found[one] for one in parts]) for row, parts in runs.items()}
    return BoardScores(tables, upper, [metric for _, _, metric in tasks])


def tests_of(*, scores: BoardScores, suite: Suite) -> RankTests:
    """Test every pair of a board's rows in the metric that it ranks by."""
    if not scores.tables:
        return RankTests({}, 0)
    column = suite.ranking_column
    tests = pair_tests(
        np.stack(list(scores.tables.values())),
        method=column.interval,
        strata=scores.strata,
        upper=np.stack(list(scores.upper.values())) if column.undecided else None,
    )
    ranges = rank_ranges(tests, higher_is_better=column.higher_is_better)
    found = {pk: one for pk, one in zip(scores.tables, ranges, strict=True) if one is not None}
    return RankTests(found, tests.count)


def tables_of(
    *,
    column: Column,
    samples: int,
    evaluations: Sequence[str],
    tasks: Sequence[tuple[int, str, str]],
    upper: bool = False,
) -> dict[str, Table]:
    """What each task counts in a column on each sample, by evaluation: cached, or read now.

    Args:
        column: of the suite.
        samples: of each executed task.
        evaluations: completed ones.
        tasks: primary key, key and metric of each of the suite's tasks, in order.
        upper: whether undecided tasks count as the better value instead of 0.

    Returns:
        (tasks, samples), one sample where plans are judged; NaN where a task does not count, and everywhere where plans
        were executed on another number of samples.
    """
    tables = {pk: kept for pk in evaluations if (kept := _scores.get((pk, column, upper))) is not None}
    missing = [pk for pk in evaluations if pk not in tables]
    width = samples if column.interval.over_scenes else 1
    together = max(1, _READ_TOGETHER // max(1, len(tasks) * width))
    places = {task: place for place, (task, _, _) in enumerate(tasks)}
    named = {task: (key, metric) for task, key, metric in tasks}
    for start in range(0, len(missing), together):
        part = [UUID(pk) for pk in missing[start : start + together]]
        for pk, results in packed_scores(evaluations=part, tasks=named).items():
            table = np.full((len(tasks), width), np.nan, dtype=np.float32)
            found = table_of(column=column, results=list(results.values()), samples=samples, upper=upper)
            if found is not None and results:
                table[[places[task] for task in results]] = found
            tables[str(pk)] = table
            _scores.put((str(pk), column, upper), table)
    return tables


def _mean(tables: Sequence[Table]) -> Table:
    """What a task counts in a row of several runs: its mean over them, of the scores as they were published."""
    if len(tables) == 1:
        return tables[0]
    wide = [np.round(table.astype(np.float64), DECIMALS) for table in tables]
    return np.asarray(np.mean(wide, axis=0), dtype=np.float32)
