"""The scores of a board's planners on each task: what the heat map shows. The arithmetic is pure; `matrix_of` reads.

Nothing here is withheld anywhere: a cell is what the task counts in the column that the board ranks by, and the pages
of the board's evaluations list the same scores. Words of requests are left out of boards on a hidden split.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from evaluator.metrics.aggregate import TaskScore, counted
from evaluator.planners.bundled import KNOW_GOLD
from evaluator.suites.base import Column, IntervalMethod
from evaluator.suites.hidden import HIDDEN
from evaluator.validity.executed_plans import GOOD
from leaderboard.boards.contents import BoardContent
from leaderboard.boards.drawing.clustering import similar_order
from leaderboard.boards.models import Snapshot
from leaderboard.boards.normalising import GOLD
from leaderboard.catalog.models import Suite
from leaderboard.planners.models import is_bundled
from leaderboard.results.task_filters import TaskRow
from leaderboard.results.task_rows import facts_of
from leaderboard.results.task_scores import packed_values
from leaderboard.site.lru_cache import SharedCache

MOST_PLANNERS = 50
"""Rows of the board that are shown, the best first."""
_MOST_BYTES = 64 * 2**20
_SAME = 1e-6

Values = NDArray[np.float32]


class Solved(StrEnum):
    """How many planners solve a task, among those that do not answer with gold plans."""

    NONE = "none"
    SOME = "some"
    ALL = "all"
    UNKNOWN = "unknown"
    """No planner has a score."""


class HeatTask(NamedTuple):
    """One task of a matrix."""

    key: str
    text: str
    """Its request; empty where requests are hidden."""


class HeatPlanner(NamedTuple):
    """One row of the board, and column of the matrix."""

    planner: str
    owner: str
    evaluation: str
    """Whose task pages the cells lead to."""
    rank: int
    knows_gold: bool = False


class TaskMatrix(NamedTuple):
    """Scores by task and planner."""

    values: Values
    """(tasks, planners): what the task counts, the mean over its samples; NaN where it does not count."""
    tasks: tuple[HeatTask, ...]
    """In the suite's order."""
    planners: tuple[HeatPlanner, ...]
    """By rank."""
    solved: tuple[Solved, ...]
    """By task."""
    rule: str
    """When a task counts as solved, as a sentence."""
    low: float
    """Of the column's range."""
    high: float
    left_out: int = 0
    """Ranked planners beyond `MOST_PLANNERS`."""


_matrices: SharedCache[tuple[int, str], TaskMatrix] = SharedCache(
    maxsize=_MOST_BYTES, size_of=lambda matrix: matrix.values.nbytes + 300 * len(matrix.tasks)
)


def matrix_of(*, suite: Suite, snapshot: Snapshot, content: BoardContent) -> TaskMatrix:
    """The matrix of a snapshot: computed once per process, since published results do not change."""
    key = (snapshot.pk, snapshot.digest)
    return _matrices.get_or_make(key, lambda: _read(suite=suite, snapshot=snapshot, rows=content.rows))


def _read(*, suite: Suite, snapshot: Snapshot, rows: Sequence[Mapping[str, Any]]) -> TaskMatrix:
    # In a weighted mean of metrics tasks count more or less than their score.
    column = replace(suite.ranking_column, weights={})
    ranked = [row for row in rows if row["rank"] is not None]
    shown = ranked[:MOST_PLANNERS]
    facts = facts_of(suite, shows_gold=False)
    values = _values(column=column, rows=shown, tasks=facts)
    planners = tuple(map(_planner, shown))
    hides_words = snapshot.split == HIDDEN
    solved, rule = solved_by(values=values, planners=planners, column=column, gold=_gold_of(shown))
    return TaskMatrix(
        values=values,
        tasks=tuple(HeatTask(task.key, "" if hides_words else task.text) for task in facts),
        planners=planners,
        solved=solved,
        rule=rule,
        low=column.low,
        high=1.0 if column.high is None else column.high,
        left_out=len(ranked) - len(shown),
    )


def _values(*, column: Column, rows: Sequence[Mapping[str, Any]], tasks: Sequence[TaskRow]) -> Values:
    """What tasks count in a column, for rows of several runs the mean over these: one query."""
    runs = [tuple(map(UUID, (row.get("runs") or {}).get("evaluations") or [row["evaluation"]])) for row in rows]
    named = {task.pk: (task.key, task.metric) for task in tasks}
    found = packed_values(
        evaluations=[one for parts in runs for one in parts],
        tasks=named,
        indicator=column.key if column.indicator else "",
    )
    values = np.full((len(tasks), len(rows)), np.nan, dtype=np.float32)
    for number, parts in enumerate(runs):
        of_runs = [_column_of(column=column, results=found[one], tasks=tasks) for one in parts]
        values[:, number] = np.mean(of_runs, axis=0)
    return values


def _column_of(*, column: Column, results: Mapping[int, TaskScore], tasks: Sequence[TaskRow]) -> Values:
    ordered = [task.pk for task in tasks if task.pk in results]
    counts = counted(column=column, results=[results[pk] for pk in ordered])
    by_task = dict(zip(ordered, counts, strict=True))
    return np.array([by_task.get(task.pk) for task in tasks], dtype=np.float32)


def _planner(row: Mapping[str, Any]) -> HeatPlanner:
    return HeatPlanner(
        planner=row["planner"],
        owner=row["owner"],
        evaluation=row["evaluation"],
        rank=row["rank"],
        knows_gold=is_bundled(row["kind"]) and row.get("strategy") in KNOW_GOLD,
    )


def _gold_of(rows: Sequence[Mapping[str, Any]]) -> int | None:
    """Place of the row whose answers are the gold plans."""
    found = (place for place, row in enumerate(rows) if is_bundled(row["kind"]) and row.get("strategy") == GOLD)
    return next(found, None)


def solved_by(
    *, values: Values, planners: Sequence[HeatPlanner], column: Column, gold: int | None
) -> tuple[tuple[Solved, ...], str]:
    """Which tasks are solved by how many planners, and when a task counts as solved.

    Args:
        values: as in `TaskMatrix`.
        planners: of the columns; those that answer with gold plans do not count, unless there are no others.
        column: that the board ranks by.
        gold: place of the planner whose answers are the gold plans, if the board has it.
    """
    best = column.low if not column.higher_is_better else (1.0 if column.high is None else column.high)
    if column.interval is IntervalMethod.WILSON or column.good:
        reached, rule = np.abs(values - best) <= _SAME, "A task counts as solved at the best score."
    elif gold is not None and column.higher_is_better:
        least = GOOD * values[:, [gold]]
        reached = (values >= least - _SAME) & (values > _SAME)
        rule = f"A task counts as solved at {100 * GOOD:.0f} % of its gold plan's score."
    else:
        reached = values > column.low + _SAME if column.higher_is_better else values < best + _SAME
        rule = "A task counts as solved at any score above the lowest."
    own = [place for place, planner in enumerate(planners) if not planner.knows_gold] or list(range(len(planners)))
    known = ~np.isnan(values[:, own])
    counts, totals = (reached[:, own] & known).sum(axis=1), known.sum(axis=1)
    return tuple(_solved(int(count), of=int(total)) for count, total in zip(counts, totals, strict=True)), rule


def _solved(count: int, *, of: int) -> Solved:
    if not of:
        return Solved.UNKNOWN
    return Solved.NONE if not count else Solved.ALL if count == of else Solved.SOME


class Band(NamedTuple):
    """Tasks that as many planners solve, in the order in which they are shown."""

    solved: Solved | None
    """None: of all kinds."""
    tasks: tuple[int, ...]
    """Places in the matrix."""


CLUSTERED, HARDEST, AS_IN_SUITE = "clustered", "hardest", "suite"
RANKED, SIMILAR = "rank", "similar"


def bands_of(matrix: TaskMatrix, *, order: str) -> tuple[Band, ...]:
    """The tasks in an order: unsolved ones first with similar ones beside each other, by mean score, or the suite's."""
    places = range(len(matrix.tasks))
    if order == AS_IN_SUITE:
        return (Band(None, tuple(places)),)
    if order == HARDEST:
        means = _means(matrix.values)
        return (Band(None, tuple(sorted(places, key=lambda place: (np.isnan(means[place]), means[place], place)))),)
    found = []
    for solved in Solved:
        members = [place for place in places if matrix.solved[place] is solved]
        if members:
            ordered = similar_order(matrix.values[members])
            found.append(Band(solved, tuple(members[place] for place in ordered)))
    return tuple(found)


def planners_in_order(matrix: TaskMatrix, *, order: str) -> tuple[int, ...]:
    """Places of the planners: by rank, or similar ones beside each other, the better end first."""
    if order == SIMILAR:
        return tuple(reversed(similar_order(matrix.values.T)))
    return tuple(range(len(matrix.planners)))


def _means(values: Values) -> NDArray[np.float64]:
    known = ~np.isnan(values)
    sums = np.where(known, values, 0.0).sum(axis=1, dtype=np.float64)
    counts = known.sum(axis=1)
    means: NDArray[np.float64] = np.divide(sums, counts, out=np.full(len(values), np.nan), where=counts > 0)
    return means
