"""Paired tests behind the rank ranges: this module reads the scores, `evaluator.scoring.metrics.paired` tests them.

Scores of completed evaluations never change, so each process caches them: a board with one more row reads one more
evaluation.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from evaluator.core.canonical_json import JsonValue
from evaluator.core.signatures.statements import BoardSummary
from evaluator.core.suites.base import Column
from evaluator.scoring.board_summary import summarise
from evaluator.scoring.metrics.aggregate import TaskScore, table_of
from evaluator.scoring.metrics.paired import DECIMALS, RankRange, pair_tests, rank_ranges
from evaluator.scoring.metrics.runs import RepeatedScores
from evaluator.scoring.uncertainty import repeated_of_row, uncertainty_of
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.results.further_scores import with_further
from leaderboard.evaluations.results.task_scores import packed_scores
from leaderboard.platform.lru_cache import SharedCache

Table = NDArray[np.float32]
_MOST_BYTES = 256 * 2**20
"""Size of the cached scores per process: 1,000 planners on 2,000 requests and 32 samples."""
_MOST_REPEATED = 500_000
"""Tasks that were asked again whose scores are cached per process."""
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
    repeated: Mapping[str, RepeatedScores] | None = None
    """What is known about the runs of each row; None: nothing was ever recorded."""


class RankTests(NamedTuple):
    """The ranges of ranks on a board, by paired tests."""

    ranges: Mapping[str, RankRange]
    """By evaluation; evaluations that cannot be tested are left out."""
    count: int  # type: ignore[assignment]  # hides tuple.count, which nothing calls
    """Number of pairs tested, over which Holm's method adjusts."""
    summary: BoardSummary


class SuiteRuns(NamedTuple):
    """Evaluations of one suite under the conditions of one board."""

    column: Column
    """By which the board ranks."""
    samples: int
    """Per task, by the board's conditions."""
    tasks: Sequence[tuple[int, str, str]]
    """Primary key, key and metric of each of the suite's tasks, in order."""
    evaluations: Sequence[UUID]


_scores: SharedCache[tuple[str, Column, bool], Table] = SharedCache(
    maxsize=_MOST_BYTES, size_of=lambda table: table.nbytes
)
_repeated: SharedCache[tuple[tuple[str, ...], Column, bool], RepeatedScores] = SharedCache(
    maxsize=_MOST_REPEATED, size_of=lambda repeated: 1 + len(repeated.by_task)
)


def scores_of(*, runs: Runs, suite: Suite, samples: int, alike: Mapping[str, bool] | None = None) -> BoardScores:
    """The scores of a board's rows in its primary metric.

    Args:
        runs: of the rows that have a value for this metric.
        suite: of all evaluations.
        samples: per task, by the board's conditions.
        alike: by the evaluation that a row names, whether its planner is declared to answer alike and did; None: no row
            says how often its planner was asked.
    """
    tasks = list(Task.objects.filter(suite=suite).order_by("position").values_list("pk", "key", "metric"))
    evaluations = [evaluation for members in runs.values() for evaluation in members]
    column = suite.ranking_column

    def read(*, upper: bool) -> dict[str, Table]:
        tables = tables_of(column=column, samples=samples, evaluations=evaluations, tasks=tasks, upper=upper)
        return {row: mean_of([tables[evaluation] for evaluation in members]) for row, members in runs.items()}

    tables = read(upper=False)
    repeated = None if alike is None else repeated_of(runs=runs, column=column, tasks=tasks, alike=alike)
    upper = read(upper=True) if column.undecided else tables
    return BoardScores(tables, upper, [metric for _, _, metric in tasks], repeated)


def repeated_of(
    *, runs: Runs, column: Column, tasks: Sequence[tuple[int, str, str]], alike: Mapping[str, bool]
) -> dict[str, RepeatedScores]:
    """What is known about the runs of each row, cached per process.

    Args:
        runs: of the rows.
        column: of the suite.
        tasks: primary key, key and metric of each of the suite's tasks, in order.
        alike: see `scores_of`.
    """
    keys = {row: (tuple(members), column, alike.get(row, False)) for row, members in runs.items()}
    found = {row: cached for row, key in keys.items() if (cached := _repeated.get(key)) is not None}
    missing = [row for row in runs if row not in found]
    names = {task: (key, metric) for task, key, metric in tasks}
    together = max(1, _READ_TOGETHER // max(1, len(tasks)))
    for start in range(0, len(missing), together):
        part = missing[start : start + together]
        wanted = list(dict.fromkeys(UUID(pk) for row in part for pk in runs[row]))
        packed = packed_scores(evaluations=wanted, tasks=names)
        results = with_further({pk: list(by_task.values()) for pk, by_task in packed.items()})
        for row in part:
            found[row] = repeated_of_row(
                column=column, runs=[results[UUID(pk)] for pk in runs[row]], is_deterministic=alike.get(row, False)
            )
            _repeated.put(keys[row], found[row])
    return found


def uncertainties_of(*, scores: BoardScores, suite: Suite) -> dict[str, dict[str, JsonValue]]:
    """The margins of each row (`evaluator.scoring.uncertainty`) by evaluation; empty where no row says how often its
    planner was asked."""
    column = suite.ranking_column
    found = {}
    for row, repeated in (scores.repeated or {}).items():
        upper = np.asarray(scores.upper[row], dtype=np.float64) if column.undecided else None
        table = np.asarray(scores.tables[row], dtype=np.float64)
        margins = uncertainty_of(column=column, table=table, strata=scores.strata, repeated=repeated, upper=upper)
        if margins is not None:
            found[row] = margins.to_json()
    return found


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
    repeated = None if scores.repeated is None else [scores.repeated[evaluation] for evaluation in ranked]
    tests = pair_tests(tables, method=column.interval, strata=scores.strata, upper=upper, repeated=repeated)
    ranges = zip(ranked, rank_ranges(tests, higher_is_better=column.higher_is_better), strict=True)
    summary = summarise(
        tables,
        means=list(ranked.values()),
        tests=tests,
        method=column.interval,
        strata=scores.strata,
        upper=upper,
        repeated=repeated,
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
    names = {task: (key, metric) for task, key, metric in tasks}
    for start in range(0, len(missing), together):
        part = [UUID(pk) for pk in missing[start : start + together]]
        for pk, results in packed_scores(evaluations=part, tasks=names).items():
            table = _table(column=column, samples=samples, tasks=tasks, results=results, upper=upper)
            tables[str(pk)] = table
            _scores.put((str(pk), column, upper), table)
    return tables


def both_tables_of(runs: Sequence[SuiteRuns]) -> dict[UUID, tuple[Table, Table]]:
    """`tables_of` completed evaluations of several suites, with undecided tasks counted as 0 and as the better value:
    one query for those that are not cached."""
    wanted = [(of, pk, upper) for of in runs for pk in of.evaluations for upper in _ends(of.column)]
    cached = {(pk, upper): _scores.get((str(pk), of.column, upper)) for of, pk, upper in wanted}
    tables = {key: table for key, table in cached.items() if table is not None}
    missing = [(of, pk, upper) for of, pk, upper in wanted if (pk, upper) not in tables]
    names = {task: (key, metric) for of, *_ in missing for task, key, metric in of.tasks}
    results = packed_scores(evaluations=list({pk for _, pk, _ in missing}), tasks=names) if missing else {}
    for of, pk, upper in missing:
        table = _table(column=of.column, samples=of.samples, tasks=of.tasks, results=results[pk], upper=upper)
        tables[pk, upper] = table
        _scores.put((str(pk), of.column, upper), table)
    return {pk: (tables[pk, False], tables.get((pk, True), tables[pk, False])) for _, pk, _ in wanted}


def _ends(column: Column) -> tuple[bool, ...]:
    return (False, True) if column.undecided else (False,)


def _table(
    *,
    column: Column,
    samples: int,
    tasks: Sequence[tuple[int, str, str]],
    results: Mapping[int, TaskScore],
    upper: bool,
) -> Table:
    """The values of one evaluation, as `tables_of` returns them."""
    positions = {task: position for position, (task, _, _) in enumerate(tasks)}
    table = np.full((len(tasks), samples if column.interval.over_scenes else 1), np.nan, dtype=np.float32)
    values = table_of(column=column, results=list(results.values()), samples=samples, upper=upper)
    if values is not None and results:
        table[[positions[task] for task in results]] = values
    return table


def mean_of(tables: Sequence[Table]) -> Table:
    """The mean over the runs of a row, of the scores as published."""
    if len(tables) == 1:
        return tables[0]
    wide = [np.round(table.astype(np.float64), DECIMALS) for table in tables]
    return np.asarray(np.mean(wide, axis=0), dtype=np.float32)
