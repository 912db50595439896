"""The scores of a board's planners on each task: what the heat map shows. The arithmetic is pure; `matrix_of` reads.

A cell is what the task counts in the column that the board ranks by, and the pages of the board's evaluations list the
same scores. On a hidden split there is no matrix until the season is closed, and words of requests are left out.
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
from evaluator.studies.validity.executed_plans import GOOD
from leaderboard.boards.anchors import GOLD
from leaderboard.boards.models import Snapshot
from leaderboard.boards.task_values import Values as Values
from leaderboard.boards.task_values import task_facts, values_of
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.gold import check_tasks
from leaderboard.planners.models import is_bundled
from leaderboard.platform.lru_cache import SharedCache

MOST_PLANNERS = 50
"""Rows of the board that one page shows."""
_MOST_BYTES = 64 * 2**20
_SAME = 1e-6
_PLACE = np.dtype("<u4")
Rows = Sequence[Mapping[str, Any]]
"""Of a board, in the format of `ranking.py` and by rank."""


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
    first: int = 0
    """Ranked planners that come before these."""
    ranked: int = 0
    """All ranked planners of the board."""
    order: Sequence[int] = ()
    """Places of all tasks, similar ones beside each other; empty if nobody has found it yet."""

    @property
    def last(self) -> int:
        """Place of the last planner among the ranked ones, from 1."""
        return self.first + len(self.planners)


_matrices: SharedCache[tuple[int, str, int, int], TaskMatrix] = SharedCache(
    maxsize=_MOST_BYTES, size_of=lambda matrix: matrix.values.nbytes + 300 * len(matrix.tasks)
)


def matrix_of(*, suite: Suite, snapshot: Snapshot, rows: Rows, page: int = 1, size: int = MOST_PLANNERS) -> TaskMatrix:
    """The matrix of some planners of a snapshot: computed once per process, since published results do not change.

    Raises:
        TasksWithheldError: the snapshot is of an open season. Nobody gets it, since it is kept for all readers.

    Args:
        rows: of the snapshot.
        page: which `size` planners by rank, from 1; the last ones where there are not so many.
        size: how many planners at most.
    """
    check_tasks(reader=None, of=snapshot)
    ranked = _ranked(rows)
    first = min(page - 1, max(0, len(ranked) - 1) // size) * size

    def make() -> TaskMatrix:
        made = _matrix(suite=suite, ranked=ranked, shown=slice(first, first + size))
        if snapshot.split == HIDDEN:
            made = made._replace(tasks=tuple(task._replace(text="") for task in made.tasks))
        if (first, size) != (0, MOST_PLANNERS):
            return made
        packed = Snapshot.objects.values_list("task_order", flat=True).get(pk=snapshot.pk)
        order = () if packed is None else np.frombuffer(zlib.decompress(packed), dtype=_PLACE).tolist()
        return made._replace(order=order)

    return _matrices.get_or_make((snapshot.pk, snapshot.digest, first, size), make)


def packed_order(*, suite: Suite, rows: Rows) -> bytes:
    """The order of the tasks in which similar ones are neighbours among the best `MOST_PLANNERS` planners, for a
    snapshot with these rows: finding it takes longer than all else of a heat map."""
    matrix = _matrix(suite=suite, ranked=_ranked(rows), shown=slice(0, MOST_PLANNERS))
    places = [place for band in bands_of(matrix, order=CLUSTERED) for place in band.tasks]
    return zlib.compress(np.array(places, dtype=_PLACE).tobytes())


def _ranked(rows: Rows) -> Rows:
    return [row for row in rows if row["rank"] is not None]


def _matrix(*, suite: Suite, ranked: Rows, shown: slice) -> TaskMatrix:
    column, rows = suite.ranking_column, ranked[shown]
    values = _values(suite=suite, rows=rows)
    planners = tuple(map(_planner, rows))
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
        first=shown.start,
        ranked=len(ranked),
    )


def _values(*, suite: Suite, rows: Rows) -> Values:
    """What tasks count, for rows of several runs the mean over these."""
    runs = [tuple(map(UUID, evaluations_of(row))) for row in rows]
    found = values_of(suite=suite, evaluations=[one for parts in runs for one in parts])
    values = np.full((len(task_facts(suite)), len(rows)), np.nan, dtype=np.float32)
    for number, parts in enumerate(runs):
        values[:, number] = np.mean([found[one] for one in parts], axis=0)
    return values


def evaluations_of(row: Mapping[str, Any]) -> Sequence[str]:
    """The evaluations that a row of a board is the mean of."""
    return (row.get("runs") or {}).get("evaluations") or [row["evaluation"]]


def _planner(row: Mapping[str, Any]) -> HeatPlanner:
    return HeatPlanner(
        planner=row["planner"],
        owner=row["owner"],
        evaluation=row["evaluation"],
        rank=row["rank"],
        knows_gold=is_bundled(row["kind"]) and row.get("strategy") in KNOW_GOLD,
    )


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
        members = [place for place in matrix.order or places if matrix.solved[place] is solved]
        if members and matrix.planners and not matrix.order:
            members = [members[place] for place in similar_order(matrix.values[members])]
        if members:
            found.append(Band(solved, tuple(members)))
    return tuple(found)


def planners_in_order(matrix: TaskMatrix, *, order: str) -> tuple[int, ...]:
    """Places of the planners: by rank, or similar ones beside each other, from the best on."""
    if order == SIMILAR:
        return tuple(similar_order(-matrix.values.T))
    return tuple(range(len(matrix.planners)))


def similar_order(matrix: Values) -> list[int]:
    """Places of the rows in an order in which similar rows are neighbours: from the row with the lowest mean on, each
    is followed by the nearest one that is left (Euclidean distance).

    Args:
        matrix: (rows, columns); NaN, where a value is missing, counts as the row's mean.

    Returns:
        A permutation of the rows' places, the same for the same matrix. Equal rows keep their order.
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
    """One line for each task in the suite's order, RFC 4180: its key, by how many planners it is solved, and what it
    counts by planner; empty where it does not count. Texts that a spreadsheet would take for a formula begin with an
    apostrophe."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(["task", "solved", *(safe_cell(f"{one.planner} by {one.owner}") for one in matrix.planners)])
    for task, solved, values in zip(matrix.tasks, matrix.solved, matrix.values.tolist(), strict=True):
        cells = ("" if isnan(value) else round(value, DECIMALS) for value in values)
        writer.writerow([safe_cell(task.key), str(solved), *cells])
    return file.getvalue()
