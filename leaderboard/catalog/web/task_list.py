"""The list of a suite's tasks, with search, filters and order, and their difficulty: how many planners of the newest
open board solve each.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
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
from leaderboard.evaluations.results.filters import Facet, Filter, Sort, chosen_of, index, select, sort_by
from leaderboard.evaluations.results.task_rows import FIRST, YES_NO, TaskRow, task_facet
from leaderboard.planners.models import is_bundled
from leaderboard.platform.lru_cache import SharedCache

_EXACT = 1.0
_TOLERANCE = 1e-6
"""Scores are kept as 32-bit floats."""
_BOARDS = 16


class Difficulty(NamedTuple):
    """Number of planners that solve a task."""

    solved: int = 0
    planners: int = 0
    """Planners with a score on it, without those that know the gold plans."""

    @property
    def share(self) -> float | None:
        """Share of the planners that solve it, in [0, 1]; None if no planner has a score."""
        return self.solved / self.planners if self.planners else None


NO_DIFFICULTY = Difficulty()
_found: SharedCache[tuple[int, str], Mapping[int, Difficulty]] = SharedCache(maxsize=_BOARDS)


def difficulties(*, suite: Suite, snapshot: Snapshot) -> Mapping[int, Difficulty]:
    """The difficulty of each task, by primary key.

    A graded score solves a task if it reaches `GOOD` times the mean score of the bundled planner `gold`, or of the best
    possible value if the board has no such row. A task that counts 0 or 1 is solved by 1.

    Args:
        suite: of the snapshot.
        snapshot: of public data.
    """
    return _found.get_or_make((snapshot.pk, snapshot.digest), lambda: _difficulties(suite=suite, snapshot=snapshot))


def _difficulties(*, suite: Suite, snapshot: Snapshot) -> Mapping[int, Difficulty]:
    rows, column = content_of(snapshot).rows, suite.ranking_column
    tasks = list(Task.objects.filter(suite=suite).order_by("position").values_list("pk", "key", "metric"))
    gold = next((row["evaluation"] for row in rows if _strategy(row) == GOLD), None)
    planners = [row["evaluation"] for row in rows if _strategy(row) not in KNOW_GOLD]
    evaluations = planners if gold is None else [*planners, gold]
    tables = tables_of(column=column, samples=snapshot.samples, evaluations=evaluations, tasks=tasks)
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
    """Number of planners that solve each task, and number with a score on it.

    Args:
        means: (tasks,) for each planner, NaN without a score.
        threshold: (tasks,) least mean that solves a task; if it is 0, only positive scores do.
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


_LEVELS = (
    ("none", "unsolved by all"),
    ("few", "solved by up to a third"),
    ("some", "by up to two thirds"),
    ("most", "by more"),
    ("all", "by all"),
)
_WORDS = dict(_LEVELS)


class SuiteTask(NamedTuple):
    """One task of a suite."""

    row: TaskRow
    difficulty: Difficulty
    facts: tuple[str, ...]
    """Values of the suite's facets, in words."""


class TaskSelection(NamedTuple):
    """The selected tasks, in the form of `evaluations/filter.html`."""

    rows: tuple[SuiteTask, ...]
    filters: tuple[Filter, ...]
    search: str
    is_filtered: bool


class Heading(NamedTuple):
    """A heading of a sortable column."""

    label: str
    sorted: str
    link: str


_SORTS: Mapping[str, Callable[[SuiteTask], Any]] = {
    "task": lambda task: task.row.position,
    "difficulty": lambda task: task.difficulty.share,
}


def level_of(difficulty: Difficulty) -> str:
    """The level of a difficulty, one of `_LEVELS`; empty if it is not known."""
    share = difficulty.share
    if share is None:
        return ""
    if difficulty.solved in {0, difficulty.planners}:
        return "all" if difficulty.solved else "none"
    return "few" if share <= 1 / 3 else "some" if share <= 2 / 3 else "most"


def select_tasks(
    *, suite: Suite, rows: Sequence[TaskRow], difficulties: Mapping[int, Difficulty], parameters: Mapping[str, str]
) -> TaskSelection:
    """Apply search, filters and order of a query string; unknown values are ignored.

    Args:
        rows: all tasks of the suite, without results.
        difficulties: by primary key of the task; empty if none is shown.
        parameters: `q`, `sort` (`task` or `difficulty`, `-` before it: descending) and the names of facets.
    """
    facets = _facets(suite=suite, has_difficulty=bool(difficulties), rows=rows)
    shown = {facet.name: facet for facet in facets}
    tasks = [
        SuiteTask(
            row=row,
            difficulty=difficulties.get(row.pk, NO_DIFFICULTY),
            facts=tuple(
                _words(facet=shown[name], value=value)
                for name, values in row.facets.items()
                if name in shown
                for value in values
            ),
        )
        for row in rows
    ]
    indexed = index(rows=tasks, facets=facets)
    search = parameters.get("q", "").strip()
    places = [place for place, task in enumerate(tasks) if _matches(task=task, search=search)]
    chosen = chosen_of(parameters=parameters, facets=facets)
    selected = select(indexed=indexed, chosen=chosen, within=indexed.at(places))
    sort = _sort(parameters.get("sort", ""))
    ordered = sort_by(rows=selected.rows, key=_SORTS[sort.key], descending=sort.descending)
    return TaskSelection(tuple(ordered), selected.filters, search, bool(chosen or search))


def heading(*, key: str, label: str, sort: str) -> Heading:
    """A heading of the table.

    Args:
        key: of `_SORTS`.
        label: its text.
        sort: parameter of the query string.
    """
    order = _sort(sort)
    return Heading(label, order.direction(key), order.link(key, ascends=True))


def _sort(text: str) -> Sort:
    return Sort.read(text, known=_SORTS, default="task")


def _matches(*, task: SuiteTask, search: str) -> bool:
    if search.startswith("#"):
        return task.row.key == search[1:]
    text = f"{task.row.key} {task.row.text} {' '.join(task.facts)}".casefold()
    return all(word in text for word in search.casefold().split())


def _facets(*, suite: Suite, has_difficulty: bool, rows: Sequence[TaskRow]) -> list[Facet[SuiteTask]]:
    shown = {name for row in rows for name in row.facets}
    of_rows = [task_facet(facet) for facet in suite.facets.filters if facet.name in shown]
    facets = [
        Facet(facet.name, facet.label, partial(_values, facet=facet), facet.words, sort_key=facet.sort_key)
        for facet in of_rows
    ]
    if len({row.metric for row in rows}) > 1:
        facets.insert(0, Facet("metric", "Metric", lambda task: (task.row.metric,), str))
    if has_difficulty:
        facets.insert(0, _DIFFICULTY)
    return facets


def _values(task: SuiteTask, *, facet: Facet[TaskRow]) -> Sequence[str]:
    return facet.values(task.row)


def _words(*, facet: Facet[SuiteTask], value: str) -> str:
    """A value in words, with the label of its facet if the value is not clear without it."""
    words = facet.words(value)
    return f"{facet.label}: {value}" if value in YES_NO.values() or words.isdecimal() else words


def _difficulty_values(task: SuiteTask) -> tuple[str, ...]:
    level = level_of(task.difficulty)
    return (level,) if level else ()


_DIFFICULTY: Facet[SuiteTask] = Facet(
    "difficulty",
    "Difficulty",
    _difficulty_values,
    lambda value: _WORDS.get(value, value),
    sort_key=lambda value: list(_WORDS).index(value) if value in _WORDS else len(_WORDS),
    section=FIRST,
)
