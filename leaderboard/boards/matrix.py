"""The scores of a board's planners on each task, for the heat map.

A cell is the task's value in the board's ranking column, the same score that the pages of the evaluations list. On a
hidden split there is no matrix until the data are public, and the texts of requests are left out.
"""

import csv
import io
import zlib
from collections.abc import Mapping, Sequence
from enum import StrEnum
from math import isnan
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from evaluator.core.suites.base import Column, IntervalMethod
from evaluator.core.suites.hidden import HIDDEN
from evaluator.planners.bundled import KNOW_GOLD
from evaluator.scoring.board_table import safe_cell
from evaluator.scoring.metrics.paired import Scores
from evaluator.studies.validity.executed_plans import GOOD
from leaderboard.boards.anchors import GOLD
from leaderboard.boards.models import Snapshot
from leaderboard.boards.task_values import Values as Values
from leaderboard.boards.task_values import task_facts, values_of
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.visibility import check_tasks
from leaderboard.planners.models import is_bundled
from leaderboard.platform.lru_cache import SharedCache

MOST_PLANNERS = 50
"""Planners per page."""
_MOST_BYTES = 64 * 2**20
_SAME = 1e-6
_POSITION = np.dtype("<u4")
Rows = Sequence[Mapping[str, Any]]
"""Rows of a board by rank, in the format of `ranking.py`."""


class Solved(StrEnum):
    """How many planners solve a task, not counting planners that answer with gold plans."""

    NONE = "none"
    SOME = "some"
    ALL = "all"
    UNKNOWN = "unknown"
    """No planner has a score."""


class HeatTask(NamedTuple):
    """One task of a matrix."""

    key: str
    text: str
    """The request; empty where requests are hidden."""


class HeatPlanner(NamedTuple):
    """A row of the board, which is a column of the matrix."""

    planner: str
    owner: str
    evaluation: str
    """The evaluation to whose task pages the cells link."""
    rank: int | None
    """None for anchors."""
    knows_gold: bool = False


class TaskMatrix(NamedTuple):
    """Scores by task and planner."""

    values: Values
    """(tasks, planners): means over samples; NaN for tasks that do not count."""
    tasks: tuple[HeatTask, ...]
    """In the suite's order."""
    planners: tuple[HeatPlanner, ...]
    """By rank."""
    solved: tuple[Solved, ...]
    """By task."""
    rule: str
    """When a task counts as solved, as a sentence."""
    low: float
    """Lower end of the column's range."""
    high: float
    first: int = 0
    """Number of ranked planners before these."""
    ranked: int = 0
    """Number of ranked planners of the board."""
    order: Sequence[int] = ()
    """Positions of all tasks with similar ones next to each other; empty if not computed."""

    @property
    def last(self) -> int:
        """Position of the last planner among the ranked ones, from 1."""
        return self.first + len(self.planners)


_matrices: SharedCache[tuple[int, str, int, int], TaskMatrix] = SharedCache(
    maxsize=_MOST_BYTES, size_of=lambda matrix: matrix.values.nbytes + 300 * len(matrix.tasks)
)


def matrix_of(*, suite: Suite, snapshot: Snapshot, rows: Rows, page: int = 1, size: int = MOST_PLANNERS) -> TaskMatrix:
    """The matrix of one page of a snapshot's planners; cached per process, since published results do not change.

    Args:
        rows: of the snapshot.
        page: of the planners by rank, from 1; the last page if there are fewer.
        size: planners per page.

    Raises:
        TasksWithheldError: hidden data that are not public. Applies to every reader, since the cache is shared.
    """
    check_tasks(reader=None, of=snapshot)
    ranked = _measured(rows, suite=suite)
    first = min(page - 1, max(0, len(ranked) - 1) // size) * size

    def make() -> TaskMatrix:
        matrix = _matrix(suite=suite, ranked=ranked, window=slice(first, first + size))
        if snapshot.split == HIDDEN:
            matrix = matrix._replace(tasks=tuple(task._replace(text="") for task in matrix.tasks))
        if (first, size) != (0, MOST_PLANNERS):
            return matrix
        packed = Snapshot.objects.values_list("task_order", flat=True).get(pk=snapshot.pk)
        order = () if packed is None else np.frombuffer(zlib.decompress(packed), dtype=_POSITION).tolist()
        return matrix._replace(order=order)

    return _matrices.get_or_make((snapshot.pk, snapshot.digest, first, size), make)


def packed_order(*, suite: Suite, rows: Rows) -> bytes:
    """The order of tasks that puts similar ones next to each other, by the best `MOST_PLANNERS` planners. Snapshots
    store it, since computing it takes longer than the rest of a heat map."""
    matrix = _matrix(suite=suite, ranked=_measured(rows, suite=suite), window=slice(0, MOST_PLANNERS))
    positions = [position for band in bands_of(matrix, order=CLUSTERED) for position in band.tasks]
    return zlib.compress(np.array(positions, dtype=_POSITION).tobytes())


def _measured(rows: Rows, *, suite: Suite) -> Rows:
    """The rows with a value for the primary metric, anchors included."""
    return [row for row in rows if row["metrics"].get(suite.ranking_column.key) is not None]


def _matrix(*, suite: Suite, ranked: Rows, window: slice) -> TaskMatrix:
    column, rows = suite.ranking_column, ranked[window]
    runs = [tuple(map(UUID, evaluations_of(row))) for row in rows]
    by_evaluation = values_of(suite=suite, evaluations=[evaluation for members in runs for evaluation in members])
    values = np.full((len(task_facts(suite)), len(rows)), np.nan, dtype=np.float32)
    for number, members in enumerate(runs):
        values[:, number] = np.mean([by_evaluation[evaluation] for evaluation in members], axis=0)
    planners = tuple(
        HeatPlanner(
            planner=row["planner"],
            owner=row["owner"],
            evaluation=row["evaluation"],
            rank=row["rank"],
            knows_gold=is_bundled(row["kind"]) and row.get("strategy") in KNOW_GOLD,
        )
        for row in rows
    )
    answers_gold = (n for n, row in enumerate(rows) if is_bundled(row["kind"]) and row.get("strategy") == GOLD)
    solved, rule = solved_by(values=values, planners=planners, column=column, gold=next(answers_gold, None))
    return TaskMatrix(
        values=values,
        tasks=tuple(HeatTask(task.key, task.text) for task in task_facts(suite)),
        planners=planners,
        solved=solved,
        rule=rule,
        low=column.low,
        high=1.0 if column.high is None else column.high,
        first=window.start,
        ranked=len(ranked),
    )


def evaluations_of(row: Mapping[str, Any]) -> Sequence[str]:
    """The evaluations that a row of a board averages."""
    return (row.get("runs") or {}).get("evaluations") or [row["evaluation"]]


def solved_by(
    *, values: Values, planners: Sequence[HeatPlanner], column: Column, gold: int | None
) -> tuple[tuple[Solved, ...], str]:
    """How many planners solve each task, and the rule by which a task counts as solved.

    Args:
        values: as in `TaskMatrix`.
        planners: of the columns; those that know the gold plans count only if there are no others.
        column: the board's ranking column.
        gold: position of the planner whose answers are the gold plans, if the board has one.
    """
    reached, rule = solves(values=values, column=column, gold=None if gold is None else values[:, gold])
    own = [number for number, planner in enumerate(planners) if not planner.knows_gold] or list(range(len(planners)))
    known = ~np.isnan(values[:, own])
    counts, totals = (reached[:, own] & known).sum(axis=1).tolist(), known.sum(axis=1).tolist()
    solved = tuple(
        Solved.UNKNOWN if not total else Solved.NONE if not count else Solved.ALL if count == total else Solved.SOME
        for count, total in zip(counts, totals, strict=True)
    )
    return solved, rule


def solves(*, values: Scores, column: Column, gold: Scores | None) -> tuple[NDArray[np.bool_], str]:
    """Which values solve their task, and the rule by which they do, as a sentence.

    Args:
        values: (tasks, any number), in a board's ranking column; NaN solves nothing.
        column: the board's ranking column.
        gold: (tasks,), the values of the planner whose answers are the gold plans, if there is one.

    Returns:
        The first has the shape of `values`.
    """
    best = column.low if not column.higher_is_better else (1.0 if column.high is None else column.high)
    if column.interval is IntervalMethod.WILSON or column.good:
        return np.abs(values - best) <= _SAME, "A task counts as solved at the best score."
    if gold is not None and column.higher_is_better:
        reached = (values >= GOOD * gold[:, None] - _SAME) & (values > _SAME)
        return reached, f"A task counts as solved at {100 * GOOD:.0f} % of its gold plan's score."
    reached = values > column.low + _SAME if column.higher_is_better else values < best + _SAME
    return reached, "A task counts as solved at any score above the lowest."


class Band(NamedTuple):
    """Tasks that are solved by none, some or all of the planners, in display order."""

    solved: Solved | None
    """None: any."""
    tasks: tuple[int, ...]
    """Positions in the matrix."""


CLUSTERED, HARDEST, AS_IN_SUITE = "clustered", "hardest", "suite"
RANKED, SIMILAR = "rank", "similar"


def bands_of(matrix: TaskMatrix, *, order: str) -> tuple[Band, ...]:
    """The tasks in an order: unsolved first with similar tasks next to each other, by mean score, or the suite's."""
    positions = range(len(matrix.tasks))
    if order == AS_IN_SUITE:
        return (Band(None, tuple(positions)),)
    if order == HARDEST:
        means = _means(matrix.values)
        return (Band(None, tuple(sorted(positions, key=lambda task: (np.isnan(means[task]), means[task], task)))),)
    bands = []
    for solved in Solved:
        members = [task for task in matrix.order or positions if matrix.solved[task] is solved]
        if members and matrix.planners and not matrix.order:
            members = [members[row] for row in similar_order(matrix.values[members])]
        if members:
            bands.append(Band(solved, tuple(members)))
    return tuple(bands)


def planners_in_order(matrix: TaskMatrix, *, order: str) -> tuple[int, ...]:
    """Positions of the planners: by rank, or with similar ones next to each other, starting from the best."""
    if order == SIMILAR:
        return tuple(similar_order(-matrix.values.T))
    return tuple(range(len(matrix.planners)))


def similar_order(matrix: Values) -> list[int]:
    """An order of rows that puts similar ones next to each other: starting from the row with the lowest mean, each row
    is followed by its nearest remaining neighbour (Euclidean distance).

    Args:
        matrix: (rows, columns); NaN (a missing value) counts as the row's mean.

    Returns:
        A deterministic permutation of the row numbers. Equal rows keep their order.
    """
    means = np.nan_to_num(_means(matrix))
    rows, members = np.unique(np.where(np.isnan(matrix), means[:, None], matrix), axis=0, return_inverse=True)
    members = members.reshape(-1)
    order: list[int] = []
    is_left = np.ones(len(rows), dtype=bool)
    distances = rows.mean(axis=1)
    for _ in rows:
        nearest = int(np.argmin(np.where(is_left, distances, np.inf)))
        is_left[nearest] = False
        order.extend(np.flatnonzero(members == nearest).tolist())
        distances = ((rows - rows[nearest]) ** 2).sum(axis=1)
    return order


def _means(values: Values) -> NDArray[np.float64]:
    known = ~np.isnan(values)
    sums = np.where(known, values, 0.0).sum(axis=1, dtype=np.float64)
    counts = known.sum(axis=1)
    means: NDArray[np.float64] = np.divide(sums, counts, out=np.full(len(values), np.nan), where=counts > 0)
    return means


DECIMALS = 6


def matrix_as_csv(matrix: TaskMatrix) -> str:
    """One line per task in the suite's order (RFC 4180): key, `Solved`, and the value by planner, empty if the task
    does not count. Texts that a spreadsheet would take for a formula are prefixed with an apostrophe."""
    file = io.StringIO()
    writer = csv.writer(file)
    names = (safe_cell(f"{planner.planner} by {planner.owner}") for planner in matrix.planners)
    writer.writerow(["task", "solved", *names])
    for task, solved, values in zip(matrix.tasks, matrix.solved, matrix.values.tolist(), strict=True):
        cells = ("" if isnan(value) else round(value, DECIMALS) for value in values)
        writer.writerow([safe_cell(task.key), str(solved), *cells])
    return file.getvalue()
