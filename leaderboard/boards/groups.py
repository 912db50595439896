"""Scores of a board's best planners by properties of the tasks. The arithmetic is pure; `best_by_group` reads."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple
from uuid import UUID

from django.urls import reverse

from evaluator.core.suites.base import Column, IntervalMethod
from evaluator.core.suites.facets import Facet
from evaluator.scoring.metrics.aggregate import TaskScore, interval_of
from evaluator.scoring.metrics.statistics import LEAST_VALUES, Interval
from leaderboard.boards.contents import BoardContent
from leaderboard.boards.drawing.dot_plot import Band, Value, dot_plot
from leaderboard.boards.drawing.picture import Picture
from leaderboard.boards.models import Snapshot
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.gold import withholds_tasks
from leaderboard.evaluations.results.figures import score
from leaderboard.evaluations.results.filters import written
from leaderboard.evaluations.results.task_rows import TaskRow, facts_of, words_of
from leaderboard.evaluations.results.task_scores import packed_scores
from leaderboard.platform.lru_cache import SharedCache

MOST_PLANNERS = 5
_NUMBER = Column(key="", label="", description="")
Intervals = Callable[[str, Sequence[int]], Interval | None]
"""Of an evaluation's mean over tasks."""


class Series(NamedTuple):
    """One planner of the plot."""

    number: int
    """From 1; chooses shape and colour."""
    planner: str
    owner: str
    evaluation: str


class GroupRow(NamedTuple):
    """One group."""

    label: str
    tasks: int
    values: tuple[str, ...]
    """The means of all planners with their intervals, for the table; a dash where no task of the group was scored."""
    means: tuple[float | None, ...] = ()
    """The same as numbers."""


class GroupPlot(NamedTuple):
    """All groups of one facet."""

    key: str
    label: str
    picture: Picture
    rows: tuple[GroupRow, ...]


class Groups(NamedTuple):
    """Everything of a board."""

    series: tuple[Series, ...]
    plots: tuple[GroupPlot, ...]


_groups: SharedCache[tuple[int, str, int], Groups] = SharedCache(maxsize=16)


def best_by_group(*, suite: Suite, snapshot: Snapshot, content: BoardContent) -> Groups:
    """The groups of a snapshot's best planners: computed once per process, since published results do not change."""
    # While single tasks are withheld, groups of few tasks are, too.
    least = LEAST_VALUES if withholds_tasks(reader=None, of=snapshot) else 1
    key = (snapshot.pk, snapshot.digest, least)
    make = partial(_best_by_group, suite=suite, content=content, samples=snapshot.samples, least=least)
    return _groups.get_or_make(key, make)


def _best_by_group(*, suite: Suite, content: BoardContent, samples: int, least: int) -> Groups:
    series = tuple(
        Series(number, str(row["planner"]), str(row["owner"]), str(row["evaluation"]))
        for number, row in enumerate((row for row in content.rows if row["rank"] is not None), start=1)
        if number <= MOST_PLANNERS
    )
    tasks = facts_of(suite)
    found = packed_scores(
        evaluations=[UUID(one.evaluation) for one in series],
        tasks={task.pk: (task.key, task.metric) for task in tasks},
    )
    results = {str(pk): {task: one for task, one in of.items() if one.score is not None} for pk, of in found.items()}
    ranking = suite.ranking_column
    column = replace(_NUMBER, interval=ranking.interval, undecided=ranking.undecided)

    def interval(evaluation: str, members: Sequence[int]) -> Interval | None:
        of = results[evaluation]
        return _interval(column=column, results=[of[task] for task in members if task in of], samples=samples)

    scores = {pk: {task: float(one.score or 0.0) for task, one in of.items()} for pk, of in results.items()}
    facets = suite.facets.named(suite.facets.plots)
    return groups(series=series, tasks=tasks, facets=facets, scores=scores, intervals=interval, least=least)


def _interval(*, column: Column, results: Sequence[TaskScore], samples: int) -> Interval | None:
    """As the pages of evaluations compute it: over the scenes where plans are executed, else over the tasks."""
    if not results:
        return None
    if column.interval.over_scenes:
        return interval_of(column=column, results=results, samples=samples)
    binary = {one.score or 0.0 for one in results} <= {0.0, 1.0}
    return interval_of(
        column=replace(column, interval=IntervalMethod.WILSON) if binary else column, results=results, samples=samples
    )


def groups(
    *,
    series: Sequence[Series],
    tasks: Sequence[TaskRow],
    facets: Sequence[Facet],
    scores: Mapping[str, Mapping[int, float]],
    intervals: Intervals = lambda _evaluation, _tasks: None,
    least: int = 1,
) -> Groups:
    """Means over the tasks of each group that have a score, a planner's faults among them; groups with fewer than
    `least` of any planner are left out, and so is a facet with less than two groups."""
    plots = []
    for facet in facets:
        members: dict[str, list[int]] = defaultdict(list)
        named: dict[str, str] = {}
        words = words_of(facet)
        for task in tasks:
            for value in task.facets.get(facet.name, ()):
                members[words(value)].append(task.pk)
                named[words(value)] = value
        drawn = _rows(groups=members, series=series, scores=scores, intervals=intervals, least=least)
        if len(drawn) > 1:
            key = facet.attribute or facet.name
            queries = {label: written([(facet.name, value)]) for label, value in named.items()}
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
        values = [
            [of[task] for task in tasks if task in of] for one in series for of in (scores.get(one.evaluation, {}),)
        ]
        if not any(values) or any(0 < len(found) < least for found in values):
            continue
        means = tuple(
            _mean(found, interval=intervals(one.evaluation, tasks)) for one, found in zip(series, values, strict=True)
        )
        row = GroupRow(
            label=label,
            tasks=max(map(len, values)),
            values=tuple(map(_in_words, means)),
            means=tuple(None if one is None else one.mean for one in means),
        )
        rows.append((row, means))
    return rows


def _mean(values: Sequence[float], *, interval: Interval | None) -> Interval | None:
    if not values:
        return None
    mean = sum(values) / len(values)
    ends = (None, None) if interval is None else (interval.low, interval.high)
    return Interval(mean, *ends, len(values))


def _in_words(found: Interval | None) -> str:
    if found is None:
        return score(None)
    return score(found.mean) if found.ends is None else f"{score(found.mean)} ({found.in_words(form='.3f')})"


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
                    f"{one.planner}, {row.label}: {_in_words(mean)}",
                    f"{reverse('evaluations:detail', args=[one.evaluation])}{queries[row.label]}#results",
                )
                for one, mean in zip(series, means, strict=True)
            ),
        )
        for row, means in drawn
    ]
    return dot_plot(
        key=f"group-{key}",
        title=f"Mean score by {label.lower()}",
        description="One line for each group and planner: the mean, and its 95 % interval. The number of tasks is in "
        "brackets.",
        bands=bands,
    )
