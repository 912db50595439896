"""Scores of a board's best planners by properties of the tasks. The arithmetic is pure; `best_by_group` reads."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evaluator.suites.facets import Facet
from leaderboard.boards.contents import BoardContent
from leaderboard.boards.models import Snapshot
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import TaskResult
from leaderboard.results.figures import score
from leaderboard.results.task_filters import TaskRow, words_of
from leaderboard.results.task_rows import facts_of
from leaderboard.site.lru_cache import SharedCache

MOST_PLANNERS = 5
WIDTH, ROW_HEIGHT, TOP, LEFT, RIGHT = 640, 26, 30, 230, 16


class Series(NamedTuple):
    """One planner of the plot."""

    number: int
    """From 1; chooses shape and colour."""
    planner: str
    owner: str
    evaluation: str


class Mark(NamedTuple):
    """One planner's mean in one group."""

    number: int
    x: str
    y: str
    words: str


class GroupRow(NamedTuple):
    """One group."""

    label: str
    y: str
    tasks: int
    marks: tuple[Mark, ...]
    values: tuple[str, ...]
    """The means of all planners, for the table; a dash where no task of the group was scored."""
    means: tuple[float | None, ...] = ()
    """The same as numbers."""


class GroupPlot(NamedTuple):
    """All groups of one facet."""

    key: str
    label: str
    height: int
    bottom: int
    rows: tuple[GroupRow, ...]
    ticks: tuple[tuple[str, str], ...]


class Groups(NamedTuple):
    """Everything of a board."""

    series: tuple[Series, ...]
    plots: tuple[GroupPlot, ...]


_groups: SharedCache[tuple[int, str], Groups] = SharedCache(maxsize=16)


def best_by_group(*, suite: Suite, snapshot: Snapshot, content: BoardContent) -> Groups:
    """The groups of a snapshot's best planners: computed once per process, since published results do not change."""
    key = (snapshot.pk, snapshot.digest)
    return _groups.get_or_make(key, lambda: _best_by_group(suite=suite, content=content))


def _best_by_group(*, suite: Suite, content: BoardContent) -> Groups:
    series = tuple(
        Series(number, str(row["planner"]), str(row["owner"]), str(row["evaluation"]))
        for number, row in enumerate((row for row in content.rows if row["rank"] is not None), start=1)
        if number <= MOST_PLANNERS
    )
    results = TaskResult.objects.filter(evaluation__in=[one.evaluation for one in series], score__isnull=False)
    scores: dict[str, dict[int, float]] = defaultdict(dict)
    for evaluation, task, value in results.values_list("evaluation_id", "task_id", "score"):
        scores[str(evaluation)][task] = value  # type: ignore[assignment]  # the query excludes null
    facets = suite.facets.named(suite.facets.plots)
    return groups(series=series, tasks=facts_of(suite), facets=facets, scores=scores)


def groups(
    *,
    series: Sequence[Series],
    tasks: Sequence[TaskRow],
    facets: Sequence[Facet],
    scores: Mapping[str, Mapping[int, float]],
) -> Groups:
    """Means over the tasks of each group that have a score, a planner's faults among them; groups without any are left
    out, and so is a facet with less than two groups."""
    plots = []
    for facet in facets:
        members: dict[str, list[int]] = defaultdict(list)
        words = words_of(facet)
        for task in tasks:
            for value in task.facets.get(facet.name, ()):
                members[words(value)].append(task.pk)
        rows = _rows(groups=members, series=series, scores=scores)
        if len(rows) > 1:
            bottom = TOP + ROW_HEIGHT * len(rows)
            key = facet.attribute or facet.name
            plots.append(GroupPlot(key, facet.label, bottom + 8, bottom, rows, _ticks()))
    return Groups(series=tuple(series), plots=tuple(plots))


def _rows(
    *, groups: Mapping[str, Sequence[int]], series: Sequence[Series], scores: Mapping[str, Mapping[int, float]]
) -> tuple[GroupRow, ...]:
    rows: list[GroupRow] = []
    for label, tasks in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        found = [
            [scores[one.evaluation][task] for task in tasks if task in scores.get(one.evaluation, {})] for one in series
        ]
        if not any(found):
            continue
        y = TOP + ROW_HEIGHT * (len(rows) + 0.5)
        means = [sum(values) / len(values) if values else None for values in found]
        rows.append(
            GroupRow(
                label=label,
                y=f"{y:.1f}",
                tasks=max(len(values) for values in found),
                marks=tuple(
                    Mark(one.number, f"{_place(mean):.1f}", f"{y:.1f}", f"{one.planner}: {mean:.3f} ({label})")
                    for one, mean in zip(series, means, strict=True)
                    if mean is not None
                ),
                values=tuple(map(score, means)),
                means=tuple(means),
            )
        )
    return tuple(rows)


def _ticks() -> tuple[tuple[str, str], ...]:
    return tuple((f"{_place(tenth / 10):.1f}", f"{tenth / 10:.1f}") for tenth in range(0, 11, 2))


def _place(value: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * min(max(value, 0.0), 1.0)
