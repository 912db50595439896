"""How hard the tasks of a suite are: how many planners of its newest open board solve each."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluator.planners.bundled import KNOW_GOLD
from evaluator.studies.validity.executed_plans import GOOD
from leaderboard.boards.anchors import GOLD
from leaderboard.boards.contents import content_of
from leaderboard.boards.models import Snapshot
from leaderboard.boards.rank_tests import tables_of
from leaderboard.catalog.models import Suite, Task
from leaderboard.planners.models import is_bundled
from leaderboard.platform.lru_cache import SharedCache

_EXACT = 1.0
_TOLERANCE = 1e-6
"""Scores are kept as 32-bit floats."""
_BOARDS = 16


class Difficulty(NamedTuple):
    """How many planners solve a task."""

    solved: int = 0
    planners: int = 0
    """With a score on it; planners that know the gold plans are left out."""

    @property
    def share(self) -> float | None:
        """Share of the planners that solve it, in [0, 1]; None if no planner has a score."""
        return self.solved / self.planners if self.planners else None


NO_DIFFICULTY = Difficulty()
_found: SharedCache[tuple[int, str], Mapping[int, Difficulty]] = SharedCache(maxsize=_BOARDS)


def difficulties(*, suite: Suite, snapshot: Snapshot) -> Mapping[int, Difficulty]:
    """The difficulty of each task, by primary key.

    Graded scores solve a task from `GOOD` of the mean score of the bundled planner `gold` on; where the board has no
    such row, from `GOOD` of the best possible value on. Where a task counts 0 or 1, only 1 solves it.

    Args:
        suite: of the snapshot.
        snapshot: of data that readers may know about.
    """
    return _found.get_or_make((snapshot.pk, snapshot.digest), lambda: _difficulties(suite=suite, snapshot=snapshot))


def _difficulties(*, suite: Suite, snapshot: Snapshot) -> Mapping[int, Difficulty]:
    rows, column = content_of(snapshot).rows, suite.ranking_column
    tasks = list(Task.objects.filter(suite=suite).order_by("position").values_list("pk", "key", "metric"))
    gold = next((row["evaluation"] for row in rows if _strategy(row) == GOLD), None)
    planners = [row["evaluation"] for row in rows if _strategy(row) not in KNOW_GOLD]
    wanted = planners if gold is None else [*planners, gold]
    tables = tables_of(column=column, samples=snapshot.samples, evaluations=wanted, tasks=tasks)
    means = {pk: task_means(table) for pk, table in tables.items()}
    least = _EXACT if not column.interval.over_scenes else GOOD
    best = np.full(len(tasks), column.high or _EXACT) if gold is None else means[gold]
    threshold = np.where(np.isnan(best), np.inf, best * least)
    solved, measured = count_solved([means[pk] for pk in planners], threshold=threshold)
    counts = zip(tasks, solved.tolist(), measured.tolist(), strict=True)
    return {pk: Difficulty(solved=some, planners=all_) for (pk, _, _), some, all_ in counts}


def task_means(table: NDArray[np.float32]) -> NDArray[np.float64]:
    """Mean of each task over the samples that count; (tasks,), NaN where none does."""
    counts = np.sum(~np.isnan(table), axis=1)
    sums = np.nansum(table, axis=1, dtype=np.float64)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def count_solved(
    means: Sequence[NDArray[np.float64]], *, threshold: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many planners solve each task, and how many have a score on it.

    Args:
        means: (tasks,) for each planner, NaN without a score.
        threshold: (tasks,) from which mean on a task is solved. A threshold of 0 is reached by positive scores only.
    """
    solved, measured = np.zeros(len(threshold), dtype=np.int64), np.zeros(len(threshold), dtype=np.int64)
    for mean in means:
        measured += ~np.isnan(mean)
        # Comparisons with NaN are false.
        solved += (mean >= threshold - _TOLERANCE) & (mean > 0)
    return solved, measured


def _strategy(row: Mapping[str, Any]) -> str:
    """Name of a bundled planner; empty for all others."""
    return str(row.get("strategy") or "") if is_bundled(row["kind"]) else ""
