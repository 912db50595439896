"""Paired comparison of evaluations, without a database.

The first evaluation is what the others are compared against. A difference is always the other's value less the first's,
over the tasks for which both have one; the metric's direction decides which is better.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluator.metrics.aggregate import TaskScore, counted, counted_by_sample
from evaluator.metrics.crossed import Estimate
from evaluator.metrics.paired import DECIMALS, bootstrap_columns, holm, paired_test
from evaluator.metrics.statistics import Interval
from evaluator.records import Outcome
from evaluator.suites.base import Column
from evaluator.suites.facets import Facet
from leaderboard.results.task_filters import PENDING, TaskRow

NOBODY = "nobody"
"""The winner of a task without a single best evaluation."""
_LEFT_OUT_ORDER = (Outcome.INFRA_FAULT, Outcome.CANCELLED, PENDING, Outcome.NOT_RUN)
"""Decides how a task is counted if the two evaluations differ: the least expected outcome first."""
_SAME = 1e-9
"""Tolerance: scores may be sums of the same numbers in another order."""

Values = NDArray[np.float64]


class Scores(NamedTuple):
    """What one evaluation counts, task by task in the suite's order."""

    outcomes: tuple[str, ...]
    values: Mapping[str, Values]
    """(tasks,) by metric; NaN where the task does not count."""
    by_sample: Mapping[str, Values] = MappingProxyType({})
    """(tasks, samples) of the metrics whose intervals are over scenes; rows of NaN where the task does not count."""


class MetricDifference(NamedTuple):
    """One metric of one evaluation against the first."""

    metric: Column
    first_mean: float
    """Over the tasks that both have a value for, as all figures here."""
    other_mean: float
    difference: Interval
    p_value: float | None
    """None over too few scenes or tasks for a test."""
    adjusted: float | None
    """By Holm's method over the evaluations that are compared with the first; equal to `p_value` for one."""
    wins: int
    """Tasks on which the other is better than the first; 0 for sizes, which have no better."""
    losses: int
    ties: int


class Pair(NamedTuple):
    """One evaluation against the first."""

    differences: tuple[MetricDifference, ...]
    """In the suite's order; metrics without a common task are absent."""
    left_out: Mapping[str, int]
    """Tasks that one of the two has no score for, by outcome."""

    def of(self, key: str) -> MetricDifference | None:
        """The difference in one metric, if there is a common task."""
        return next((found for found in self.differences if found.metric.key == key), None)


class GroupCount(NamedTuple):
    """One evaluation against the first in one group of tasks."""

    tasks: int
    difference: float | None
    wins: int
    losses: int
    ties: int


class GroupRow(NamedTuple):
    """One group of tasks."""

    value: str
    counts: tuple[GroupCount, ...]
    """For each evaluation after the first."""


class TaskDifference(NamedTuple):
    """The values of all evaluations on one task."""

    index: int  # type: ignore[assignment]  # hides tuple.index, which nothing calls
    """Place of the task in the suite."""
    values: tuple[float | None, ...]
    spread: float
    """Largest value less smallest; 0 where fewer than two have one."""
    winner: str
    """Number of the evaluation that is best alone, from `"0"`, or `nobody`."""


def scores_of(*, metrics: Sequence[Column], tasks: Sequence[TaskRow], results: Mapping[int, TaskScore]) -> Scores:
    """Arrange the results of one evaluation, given by the task's primary key, in the suite's order."""
    places = [place for place, task in enumerate(tasks) if task.pk in results]
    found = [results[tasks[place].pk] for place in places]
    outcomes = [PENDING] * len(tasks)
    for place, result in zip(places, found, strict=True):
        outcomes[place] = str(result.outcome)
    values, tables = dict[str, Values](), dict[str, Values]()
    for metric in metrics:
        row = np.full(len(tasks), np.nan)
        row[places] = np.array(counted(column=metric, results=found), dtype=np.float64)
        values[metric.key] = row
        if metric.interval.over_scenes:
            tables[metric.key] = _by_sample(metric=metric, row=row, places=places, found=found)
    return Scores(outcomes=tuple(outcomes), values=values, by_sample=tables)


def _by_sample(*, metric: Column, row: Values, places: Sequence[int], found: Sequence[TaskScore]) -> Values:
    """A metric's values of each sample; what was not executed counts the same on all."""
    samples = max((len(result.samples) for result in found), default=0) or 1
    table = np.repeat(row[:, None], samples, axis=1)
    for place, values in zip(places, counted_by_sample(column=metric, results=found, samples=samples), strict=True):
        if values is not None and len(values) == samples:
            table[place] = values
    return table


def compare(*, metrics: Sequence[Column], scores: Sequence[Scores], strata: Sequence[str] = ()) -> tuple[Pair, ...]:
    """Every evaluation after the first against it, in all metrics; at least two evaluations.

    Args:
        metrics: the suite's columns.
        scores: of each evaluation.
        strata: the metric of each task, for metrics whose tasks are sampled.
    """
    first, others = scores[0], scores[1:]
    table = np.stack(
        [other.values[metric.key] - first.values[metric.key] for other in others for metric in metrics], axis=1
    )
    # Tasks without any score would only slow down the bootstrap.
    paired = table[~np.isnan(table).all(axis=1)]
    paired = np.where(np.abs(paired) <= _SAME, 0.0, paired)
    intervals = bootstrap_columns(paired)
    p_values: list[float | None] = [None] * len(intervals)
    for number, other in enumerate(others):
        for place, metric in enumerate(metrics):
            column = number * len(metrics) + place
            if intervals[column] is None:
                continue
            estimate = _tested(metric=metric, first=first, other=other, strata=strata)
            p_values[column] = estimate.p_value
            if metric.interval.over_scenes:
                intervals[column] = estimate.interval
    adjusted = _adjusted(p_values=p_values, known=[one is not None for one in intervals], metrics=len(metrics))
    pairs = []
    for number, other in enumerate(others):
        columns = range(number * len(metrics), (number + 1) * len(metrics))
        found = [
            _difference(
                metric=metric, first=first, other=other, interval=interval, p_value=p_values[column],
                adjusted=adjusted[column],
            )
            for metric, column in zip(metrics, columns, strict=True)
            if (interval := intervals[column]) is not None
        ]  # fmt: skip
        pairs.append(Pair(differences=tuple(found), left_out=left_out(first=first.outcomes, other=other.outcomes)))
    return tuple(pairs)


def _tested(*, metric: Column, first: Scores, other: Scores, strata: Sequence[str]) -> Estimate:
    """The difference over the tasks that both have a value for: scene by scene where plans were executed."""
    one, two = (np.round(_table(metric=metric, scores=scores), DECIMALS) for scores in (first, other))
    if one.shape != two.shape:
        # One of them executed no plan: all its tasks count the same on every sample.
        samples = max(one.shape[1], two.shape[1])
        one, two = (np.repeat(table, samples, axis=1) if table.shape[1] == 1 else table for table in (one, two))
    differences = two - one
    common = ~np.isnan(differences).any(axis=1)
    found = np.where(np.abs(differences[common]) <= _SAME, 0.0, differences[common])
    known = np.asarray(strata)[common].tolist() if len(strata) else []
    return paired_test(found, method=metric.interval, strata=known)


def _table(*, metric: Column, scores: Scores) -> Values:
    """(tasks, samples); one sample where plans are judged."""
    return scores.by_sample[metric.key] if metric.interval.over_scenes else scores.values[metric.key][:, None]


def left_out(*, first: Sequence[str], other: Sequence[str]) -> dict[str, int]:
    """Number of tasks without a score in one of the two, each counted once, by outcome."""
    counts: Counter[str] = Counter()
    for pair in zip(first, other, strict=True):
        reason = next((outcome for outcome in _LEFT_OUT_ORDER if outcome in pair), None)
        if reason is not None:
            counts[str(reason)] += 1
    return {str(outcome): counts[str(outcome)] for outcome in _LEFT_OUT_ORDER if counts[str(outcome)]}


def by_group(*, facet: str, tasks: Sequence[TaskRow], metric: Column, scores: Sequence[Scores]) -> tuple[GroupRow, ...]:
    """Wins, losses, ties and mean difference in each group of a facet, as the groups come first in the suite."""
    members: dict[str, list[int]] = {}
    for place, task in enumerate(tasks):
        for value in task.facets.get(facet, ()):
            members.setdefault(value, []).append(place)
    first = scores[0].values[metric.key]
    rows = []
    for value, places in members.items():
        counts = tuple(
            _count(metric=metric, differences=(other.values[metric.key] - first)[places]) for other in scores[1:]
        )
        if any(count.tasks for count in counts):
            rows.append(GroupRow(value=value, counts=counts))
    return tuple(rows)


def task_differences(*, metric: Column, scores: Sequence[Scores]) -> tuple[TaskDifference, ...]:
    """Every task that at least two have a value for, the largest difference first, then in the suite's order."""
    table = np.stack([one.values[metric.key] for one in scores], axis=1)
    places = np.flatnonzero((~np.isnan(table)).sum(axis=1) >= 2)
    found = table[places]
    signed = found if metric.higher_is_better else -found
    best = np.nanmax(signed, axis=1) if len(found) else np.zeros(0)
    spreads = best - np.nanmin(signed, axis=1) if len(found) else best
    spreads[spreads <= _SAME] = 0.0
    is_best = signed >= best[:, None] - _SAME
    alone = (is_best.sum(axis=1) == 1) & metric.ordered
    winners = np.where(alone, is_best.argmax(axis=1), -1).tolist()
    rows, spread, index = found.tolist(), spreads.tolist(), places.tolist()
    return tuple(
        TaskDifference(
            index=index[place],
            values=tuple(value if value == value else None for value in rows[place]),
            spread=spread[place],
            winner=NOBODY if winners[place] < 0 else str(winners[place]),
        )
        for place in np.lexsort((places, -spreads)).tolist()
    )


def _difference(
    *,
    metric: Column,
    first: Scores,
    other: Scores,
    interval: Interval,
    p_value: float | None,
    adjusted: float | None,
) -> MetricDifference:
    one, two = first.values[metric.key], other.values[metric.key]
    common = ~(np.isnan(one) | np.isnan(two))
    count = _count(metric=metric, differences=two - one)
    return MetricDifference(
        metric=metric,
        first_mean=float(one[common].mean()),
        other_mean=float(two[common].mean()),
        difference=interval,
        p_value=p_value,
        adjusted=adjusted,
        wins=count.wins,
        losses=count.losses,
        ties=count.ties,
    )


def _count(*, metric: Column, differences: Values) -> GroupCount:
    known = differences[~np.isnan(differences)]
    better = known if metric.higher_is_better else -known
    wins = int((better > _SAME).sum()) if metric.ordered else 0
    losses = int((better < -_SAME).sum()) if metric.ordered else 0
    return GroupCount(
        tasks=len(known),
        difference=float(known.mean()) if len(known) else None,
        wins=wins,
        losses=losses,
        ties=int((np.abs(known) <= _SAME).sum()),
    )


def _adjusted(*, p_values: Sequence[float | None], known: Sequence[bool], metrics: int) -> list[float | None]:
    """Each metric's tests are adjusted among each other: one for each evaluation compared with the first."""
    found = list(p_values)
    for metric in range(metrics):
        tests = {
            column: p_value
            for column in range(metric, len(p_values), metrics)
            if known[column] and (p_value := p_values[column]) is not None
        }
        for column, p_value in zip(tests, holm(list(tests.values())), strict=True):
            found[column] = p_value
    return found


def common_facets(*, tasks: Sequence[TaskRow], facets: Iterable[Facet]) -> tuple[Facet, ...]:
    """The facets with more than one value."""
    return tuple(
        facet for facet in facets if len({value for task in tasks for value in task.facets.get(facet.name, ())}) > 1
    )
