"""Scores of a board's best planners by groups of tasks. Only `best_by_group` uses the database."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple
from uuid import UUID

from django.urls import reverse

from evaluator.core.suites.base import Column, IntervalMethod
from evaluator.core.suites.facets import Facet
from evaluator.core.suites.hidden import LEAST_SHOWN
from evaluator.scoring.metrics.aggregate import TaskScore, interval_of
from evaluator.scoring.metrics.statistics import Interval
from leaderboard.boards.contents import BoardContent
from leaderboard.boards.drawing.dot_plot import Band, Value, dot_plot
from leaderboard.boards.drawing.picture import Picture
from leaderboard.boards.models import Snapshot
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.results.figures import score
from leaderboard.evaluations.results.filters import written
from leaderboard.evaluations.results.stored_rows import facts_of
from leaderboard.evaluations.results.task_rows import TaskRow, words_of
from leaderboard.evaluations.results.task_scores import packed_scores
from leaderboard.evaluations.visibility import withholds_tasks
from leaderboard.platform.lru_cache import SharedCache

MOST_PLANNERS = 5
_NUMBER = Column(key="", label="", description="")
Intervals = Callable[[str, Sequence[int]], Interval | None]
"""The interval of an evaluation's mean over tasks."""


class Series(NamedTuple):
    """One planner of the plot."""

    number: int
    """From 1; selects shape and colour."""
    planner: str
    owner: str
    evaluation: str


class GroupRow(NamedTuple):
    """One group."""

    label: str
    tasks: int
    values: tuple[str, ...]
    """Each planner's mean and interval as text; a dash if no task of the group was scored."""
    means: tuple[float | None, ...] = ()


class GroupPlot(NamedTuple):
    """All groups of one facet."""

    key: str
    label: str
    picture: Picture
    rows: tuple[GroupRow, ...]


class Groups(NamedTuple):
    """All plots of a board."""

    series: tuple[Series, ...]
    plots: tuple[GroupPlot, ...]


_groups: SharedCache[tuple[int, str, int], Groups] = SharedCache(maxsize=16)


def best_by_group(*, suite: Suite, snapshot: Snapshot, content: BoardContent) -> Groups:
    """The groups of a snapshot's best planners; computed once per process, since published results do not change."""
    # While single tasks are withheld, small groups are withheld too.
    least = LEAST_SHOWN if withholds_tasks(reader=None, of=snapshot) else 1
    key = (snapshot.pk, snapshot.digest, least)
    make = partial(_best_by_group, suite=suite, content=content, samples=snapshot.samples, least=least)
    return _groups.get_or_make(key, make)


def _best_by_group(*, suite: Suite, content: BoardContent, samples: int, least: int) -> Groups:
    best = [row for row in content.rows if row["rank"] is not None][:MOST_PLANNERS]
    series = tuple(
        Series(number, str(row["planner"]), str(row["owner"]), str(row["evaluation"]))
        for number, row in enumerate(best, start=1)
    )
    tasks = facts_of(suite)
    packed = packed_scores(
        evaluations=[UUID(planner.evaluation) for planner in series],
        tasks={task.pk: (task.key, task.metric) for task in tasks},
    )
    results = {
        str(pk): {task: result for task, result in by_task.items() if result.score is not None}
        for pk, by_task in packed.items()
    }
    ranking = suite.ranking_column
    column = replace(_NUMBER, interval=ranking.interval, undecided=ranking.undecided)

    def interval(evaluation: str, members: Sequence[int]) -> Interval | None:
        by_task = results[evaluation]
        group = [by_task[task] for task in members if task in by_task]
        return _interval(column=column, results=group, samples=samples)

    scores = {
        pk: {task: float(result.score or 0.0) for task, result in by_task.items()} for pk, by_task in results.items()
    }
    facets = suite.facets.named(suite.facets.plots)
    return groups(series=series, tasks=tasks, facets=facets, scores=scores, intervals=interval, least=least)


def _interval(*, column: Column, results: Sequence[TaskScore], samples: int) -> Interval | None:
    """As on the pages of evaluations: over the scenes if plans are executed, otherwise over the tasks."""
    if not results:
        return None
    if not column.interval.over_scenes and {result.score or 0.0 for result in results} <= {0.0, 1.0}:
        column = replace(column, interval=IntervalMethod.WILSON)
    return interval_of(column=column, results=results, samples=samples)


def groups(
    *,
    series: Sequence[Series],
    tasks: Sequence[TaskRow],
    facets: Sequence[Facet],
    scores: Mapping[str, Mapping[int, float]],
    intervals: Intervals = lambda _evaluation, _tasks: None,
    least: int = 1,
) -> Groups:
    """Means over the scored tasks of each group, including a planner's faults. Groups in which a planner has fewer than
    `least` scores are left out, as are facets with fewer than two groups."""
    plots = []
    for facet in facets:
        members: dict[str, list[int]] = defaultdict(list)
        values: dict[str, str] = {}
        words = words_of(facet)
        for task in tasks:
            for value in task.facets.get(facet.name, ()):
                members[words(value)].append(task.pk)
                values[words(value)] = value
        drawn = _rows(groups=members, series=series, scores=scores, intervals=intervals, least=least)
        if len(drawn) > 1:
            key = facet.attribute or facet.name
            queries = {label: written([(facet.name, value)]) for label, value in values.items()}
            picture = _picture(key=key, label=facet.label, drawn=drawn, series=series, queries=queries)
            plots.append(GroupPlot(key, facet.label, picture, tuple(row for row, _ in drawn)))
    return Groups(series=tuple(series), plots=tuple(plots))


_Means = tuple[Interval | None, ...]


def _rows(
    *,
    groups: Mapping[str, Sequence[int]],
    series: Sequence[Series],
    scores: Mapping[str, Mapping[int, float]],
    intervals: Intervals,
    least: int,
) -> list[tuple[GroupRow, _Means]]:
    rows: list[tuple[GroupRow, _Means]] = []
    for label, tasks in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        by_planner = [scores.get(planner.evaluation, {}) for planner in series]
        values = [[by_task[task] for task in tasks if task in by_task] for by_task in by_planner]
        if not any(values) or any(0 < len(own) < least for own in values):
            continue
        means: list[Interval | None] = []
        for planner, own in zip(series, values, strict=True):
            interval = intervals(planner.evaluation, tasks)
            ends = (None, None) if interval is None else (interval.low, interval.high)
            means.append(Interval(sum(own) / len(own), *ends, len(own)) if own else None)
        row = GroupRow(
            label=label,
            tasks=max(map(len, values)),
            values=tuple(map(_in_words, means)),
            means=tuple(None if mean is None else mean.mean for mean in means),
        )
        rows.append((row, tuple(means)))
    return rows


def _in_words(mean: Interval | None) -> str:
    if mean is None:
        return score(None)
    return score(mean.mean) if mean.ends is None else f"{score(mean.mean)} ({mean.in_words(form='.3f')})"


def _picture(
    *,
    key: str,
    label: str,
    drawn: Sequence[tuple[GroupRow, _Means]],
    series: Sequence[Series],
    queries: Mapping[str, str],
) -> Picture:
    bands = [
        Band(
            f"{row.label} ({row.tasks})",
            tuple(
                None
                if mean is None
                else Value(
                    mean.mean,
                    mean.low,
                    mean.high,
                    f"{planner.planner}, {row.label}: {_in_words(mean)}",
                    f"{reverse('evaluations:detail', args=[planner.evaluation])}{queries[row.label]}#results",
                )
                for planner, mean in zip(series, means, strict=True)
            ),
        )
        for row, means in drawn
    ]
    return dot_plot(
        key=f"group-{key}",
        title=f"Mean score by {label.lower()}",
        description="One line for each group and planner: the mean and its 95 % interval. The number of tasks is in "
        "brackets.",
        bands=bands,
    )
