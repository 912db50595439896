"""Paired tests behind the rank ranges: this module reads the scores, `evaluator.scoring.metrics.paired` tests them.

Scores of completed evaluations never change, so each process caches them: a board with one more row reads one more
evaluation.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from evaluator.core.signatures.statements import BoardSummary
from evaluator.core.suites.base import Column
from evaluator.scoring.board_summary import summarise
from evaluator.scoring.metrics.aggregate import table_of
from evaluator.scoring.metrics.paired import DECIMALS, RankRange, pair_tests, rank_ranges
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.results.task_scores import packed_scores
from leaderboard.platform.lru_cache import SharedCache

Table = NDArray[np.float32]
_MOST_BYTES = 256 * 2**20
"""Size of the cached scores per process: 1,000 planners on 2,000 requests and 32 samples."""
_READ_TOGETHER = 1_300_000
"""Scores per query, which bounds how many are in memory as Python floats."""
Runs = Mapping[str, Sequence[str]]
"""By the evaluation that a row names, the evaluations that it averages."""


class BoardScores(NamedTuple):
    """The scores of a board's rows."""

    tables: Mapping[str, Table]
    """(tasks, samples) by the evaluation that a row names; see `tables_of`."""
    upper: Mapping[str, Table]
    """The same with undecided tasks counted as the better value."""
    strata: Sequence[str]
    """The metric of each task."""


class RankTests(NamedTuple):
    """The ranks that paired tests leave open on a board."""

    ranges: Mapping[str, RankRange]
    """By evaluation; evaluations that cannot be tested are left out."""
    count: int  # type: ignore[assignment]  # hides tuple.count, which nothing calls
    """Number of pairs tested, over which Holm's method adjusts."""
    summary: BoardSummary


_scores: SharedCache[tuple[str, Column, bool], Table] = SharedCache(
    maxsize=_MOST_BYTES, size_of=lambda table: table.nbytes
)


def scores_of(*, runs: Runs, suite: Suite, samples: int) -> BoardScores:
    """The scores of a board's rows in its primary metric.

    Args:
        runs: of the rows that have a value for this metric.
        suite: of all evaluations.
        samples: per task, by the board's conditions.
    """
    tasks = list(Task.objects.filter(suite=suite).order_by("position").values_list("pk", "key", "metric"))
    evaluations = [evaluation for members in runs.values() for evaluation in members]
    column = suite.ranking_column

    def read(*, upper: bool) -> dict[str, Table]:
        tables = tables_of(column=column, samples=samples, evaluations=evaluations, tasks=tasks, upper=upper)
        return {row: _mean([tables[evaluation] for evaluation in members]) for row, members in runs.items()}

    tables = read(upper=False)
    return BoardScores(tables, read(upper=True) if column.undecided else tables, [metric for _, _, metric in tasks])


def tests_of(*, scores: BoardScores, ranked: Mapping[str, float], suite: Suite) -> RankTests:
    """Test every pair of ranked rows in the primary metric, and summarise the board.

    Args:
        ranked: the means of these rows by evaluation, in the order of their ranks.
    """
    if not ranked:
        return RankTests({}, 0, BoardSummary(leaders=0))
    column = suite.ranking_column
    tables = np.stack([scores.tables[evaluation] for evaluation in ranked])
    upper = np.stack([scores.upper[evaluation] for evaluation in ranked]) if column.undecided else None
    tests = pair_tests(tables, method=column.interval, strata=scores.strata, upper=upper)
    ranges = zip(ranked, rank_ranges(tests, higher_is_better=column.higher_is_better), strict=True)
    summary = summarise(
        tables,
        means=list(ranked.values()),
        tests=tests,
        method=column.interval,
        strata=scores.strata,
        upper=upper,
        higher_is_better=column.higher_is_better,
    )
    return RankTests({pk: span for pk, span in ranges if span is not None}, tests.count, summary)


def tables_of(
    *,
    column: Column,
    samples: int,
    evaluations: Sequence[str],
    tasks: Sequence[tuple[int, str, str]],
    upper: bool = False,
) -> dict[str, Table]:
    """The values of a column by task and sample for each evaluation, cached per process.

    Args:
        column: of the suite.
        samples: per executed task.
        evaluations: completed ones.
        tasks: primary key, key and metric of each of the suite's tasks, in order.
        upper: whether undecided tasks count as the better value instead of 0.

    Returns:
        (tasks, samples), with a single sample if plans are judged. NaN for tasks that do not count, and for all tasks
        if plans were executed on a different number of samples.
    """
    tables = {pk: cached for pk in evaluations if (cached := _scores.get((pk, column, upper))) is not None}
    missing = [pk for pk in evaluations if pk not in tables]
    width = samples if column.interval.over_scenes else 1
    together = max(1, _READ_TOGETHER // max(1, len(tasks) * width))
    positions = {task: position for position, (task, _, _) in enumerate(tasks)}
    names = {task: (key, metric) for task, key, metric in tasks}
    for start in range(0, len(missing), together):
        part = [UUID(pk) for pk in missing[start : start + together]]
        for pk, results in packed_scores(evaluations=part, tasks=names).items():
            table = np.full((len(tasks), width), np.nan, dtype=np.float32)
            values = table_of(column=column, results=list(results.values()), samples=samples, upper=upper)
            if values is not None and results:
                table[[positions[task] for task in results]] = values
            tables[str(pk)] = table
            _scores.put((str(pk), column, upper), table)
    return tables


def _mean(tables: Sequence[Table]) -> Table:
    """The mean over the runs of a row, of the scores as published."""
    if len(tables) == 1:
        return tables[0]
    wide = [np.round(table.astype(np.float64), DECIMALS) for table in tables]
    return np.asarray(np.mean(wide, axis=0), dtype=np.float32)
