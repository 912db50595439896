"""Paired comparison of evaluations, task by task. Pure.

All evaluations are compared against the first. A difference is the other's value minus the first's over the tasks for
which both have a value; the metric's direction decides which is better.

Undecided tasks count 0 in means. Intervals, tests and winners hold for every way to settle them.
"""

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from evaluator.core.records import Outcome
from evaluator.core.suites.base import Column, IntervalMethod
from evaluator.scoring.metrics.aggregate import TaskScore, counted, counted_by_sample, repeated_scores
from evaluator.scoring.metrics.crossed import Estimate
from evaluator.scoring.metrics.paired import DECIMALS, bootstrap_columns, holm, paired_test
from evaluator.scoring.metrics.runs import RepeatedScores
from evaluator.scoring.metrics.statistics import Bounds, Interval

PENDING = "pending"
"""Outcome of a task without a result."""
_Key = TypeVar("_Key", bound=Hashable)
_LEFT_OUT_ORDER = (Outcome.INFRA_FAULT, Outcome.CANCELLED, PENDING, Outcome.NOT_RUN)
"""Which outcome a task is counted under if those of the two evaluations differ: the first in this order."""
NOBODY = "nobody"
"""The winner of a task without a single best evaluation."""
_SAME = 1e-9
"""Tolerance: scores may be sums of the same numbers in another order."""

Values = NDArray[np.float64]


class Scores(NamedTuple):
    """The counted values of one evaluation, task by task in the suite's order."""

    outcomes: tuple[str, ...]
    values: Mapping[str, Values]
    """(tasks,) by metric; NaN where the task does not count."""
    by_sample: Mapping[str, Values] = MappingProxyType({})
    """(tasks, samples) for metrics whose intervals are over scenes; rows of NaN where the task does not count."""
    upper: Mapping[str, Values] = MappingProxyType({})
    """Like `values`, with undecided tasks counted as the better value; only for metrics with undecided tasks."""
    repeated: Mapping[str, RepeatedScores] = MappingProxyType({})
    """What is known about its runs, for metrics over fixed lists of tasks; empty where it is not recorded."""

    def ends(self, key: str) -> tuple[Values, Values]:
        """A metric's values with undecided tasks counted as 0 and as the better value."""
        return self.values[key], self.upper.get(key, self.values[key])


class MetricDifference(NamedTuple):
    """One metric of one evaluation against the first."""

    metric: Column
    first_mean: float
    """Over the tasks for which both have a value, like all figures here."""
    other_mean: float
    difference: Interval
    """Its mean counts undecided tasks as 0; its ends hold for every way to settle them."""
    least: float
    """The least mean difference of all ways to settle undecided tasks; `most` is the largest. Both equal the mean if
    every task is decided."""
    most: float
    p_value: float | None
    """None over too few scenes or tasks for a test."""
    adjusted: float | None
    """By Holm's method over all evaluations compared with the first; equals `p_value` if there is only one."""
    wins: int
    """Tasks on which the other is better than the first; 0 for sizes, which have no better value."""
    losses: int
    ties: int
    undecided: int
    """Tasks whose winner depends on undecided verdicts."""


class Pair(NamedTuple):
    """One evaluation against the first."""

    differences: tuple[MetricDifference, ...]
    """In the suite's order; metrics without a common task are absent."""
    left_out: Mapping[str, int]
    """Tasks without a score in one of the two, by outcome."""

    def of(self, key: str) -> MetricDifference | None:
        """The difference in one metric, if there is a common task."""
        return next((difference for difference in self.differences if difference.metric.key == key), None)


class GroupCount(NamedTuple):
    """One evaluation against the first in one group of tasks."""

    tasks: int
    difference: float | None
    wins: int
    losses: int
    ties: int
    undecided: int


class TaskDifference(NamedTuple):
    """The values of all evaluations on one task."""

    index: int  # type: ignore[assignment]  # hides tuple.index, which nothing calls
    """Index of the task in the suite."""
    values: tuple[float | None, ...]
    spread: float
    """Largest value minus smallest; 0 if fewer than two evaluations have a value."""
    winner: str
    """Index of the single best evaluation, from `"0"`, or `nobody`."""


def scores_of(
    *,
    metrics: Sequence[Column],
    tasks: Sequence[_Key],
    results: Mapping[_Key, TaskScore],
    is_deterministic: bool | None = None,
) -> Scores:
    """Arrange the results of one evaluation in the suite's order.

    Args:
        metrics: the suite's columns.
        tasks: a key of each task of the suite.
        results: by these keys, with those of further runs, if there are any.
        is_deterministic: whether the planner is declared to answer alike and did; None: it is not recorded.
    """
    places = [place for place, task in enumerate(tasks) if task in results]
    scored = [results[tasks[place]] for place in places]
    samples = max((len(result.samples) for result in scored), default=0) or 1
    values, tables, upper = dict[str, Values](), dict[str, Values](), dict[str, Values]()
    for metric in metrics:
        row = np.full(len(tasks), np.nan)
        row[places] = np.array(counted(column=metric, results=scored), dtype=np.float64)
        values[metric.key] = row
        if metric.interval.over_scenes:
            # Tasks that were not executed count the same on all samples.
            table = tables[metric.key] = np.repeat(row[:, None], samples, axis=1)
            by_sample = counted_by_sample(column=metric, results=scored, samples=samples)
            for place, sampled in zip(places, by_sample, strict=True):
                if sampled is not None and len(sampled) == samples:
                    table[place] = sampled
        if metric.undecided:
            upper[metric.key] = np.full(len(tasks), np.nan)
            upper[metric.key][places] = np.array(counted(column=metric, results=scored, upper=True), dtype=np.float64)
    outcomes = tuple(str(results[task].outcome) if task in results else PENDING for task in tasks)
    repeated = {}
    if is_deterministic is not None:
        repeated = {
            metric.key: repeated_scores(column=metric, results=scored, is_deterministic=is_deterministic)
            for metric in metrics
            if metric.interval is IntervalMethod.FIXED_TASKS
        }
    return Scores(outcomes=outcomes, values=values, by_sample=tables, upper=upper, repeated=repeated)


def compare(*, metrics: Sequence[Column], scores: Sequence[Scores], strata: Sequence[str] = ()) -> tuple[Pair, ...]:
    """Compare every evaluation after the first with the first, in all metrics; at least two evaluations.

    Args:
        metrics: the suite's columns.
        scores: of each evaluation.
        strata: the metric of each task, for metrics whose tasks are sampled.
    """
    first, others = scores[0], scores[1:]
    spans = [span_of(key=metric.key, first=first, other=other) for other in others for metric in metrics]
    bounds: list[Bounds] = [
        (-math.inf, None) if metric.high is None else (metric.low - metric.high, metric.high - metric.low)
        for _ in others
        for metric in metrics
    ]
    intervals = _bootstrapped([span.mean for span in spans], bounds=bounds)
    if any(metric.undecided for metric in metrics):
        least, most = (
            _bootstrapped([getattr(span, end) for span in spans], bounds=bounds) for end in ("least", "most")
        )
        intervals = [
            replace(interval, low=low.low, high=high.high) if interval and low and high else None
            for interval, low, high in zip(intervals, least, most, strict=True)
        ]
    p_values: list[float | None] = [None] * len(intervals)
    for number, other in enumerate(others):
        for place, metric in enumerate(metrics):
            column = number * len(metrics) + place
            if intervals[column] is None:
                continue
            if metric.interval.over_scenes:
                estimate = _over_scenes(metric=metric, first=first, other=other, strata=strata)
                p_values[column], intervals[column] = estimate.p_value, estimate.interval
            else:
                p_values[column] = _p_value(metric=metric, first=first, other=other)
    adjusted = _adjusted(p_values=p_values, intervals=intervals, metrics=len(metrics))
    pairs = []
    for number, other in enumerate(others):
        columns = range(number * len(metrics), (number + 1) * len(metrics))
        differences = [
            _difference(
                metric=metric, first=first, other=other, interval=interval, span=spans[column],
                p_value=p_values[column], adjusted=adjusted[column],
            )
            for metric, column in zip(metrics, columns, strict=True)
            if (interval := intervals[column]) is not None
        ]  # fmt: skip
        pair = Pair(differences=tuple(differences), left_out=left_out(first=first.outcomes, other=other.outcomes))
        pairs.append(pair)
    return tuple(pairs)


class Span(NamedTuple):
    """Differences of shape (tasks,), with undecided tasks counted as 0 and settled for the least and the largest
    difference."""

    mean: Values
    least: Values
    most: Values


def span_of(*, key: str, first: Scores, other: Scores) -> Span:
    """The differences of one evaluation from the first in a metric."""
    (one, one_upper), (two, two_upper) = first.ends(key), other.ends(key)
    return Span(two - one, two - one_upper, two_upper - one)


def _bootstrapped(differences: Sequence[Values], *, bounds: Sequence[Bounds]) -> list[Interval | None]:
    table = np.stack(differences, axis=1)
    # Tasks without any score would only slow down the bootstrap.
    paired = table[~np.isnan(table).all(axis=1)]
    return bootstrap_columns(np.where(np.abs(paired) <= _SAME, 0.0, paired), bounds=bounds)


def _p_value(*, metric: Column, first: Scores, other: Scores) -> float | None:
    """For judged plans: the largest p-value of all ways to settle undecided tasks; 1 if the order depends on them."""
    (one, one_upper), (two, two_upper) = (
        tuple(np.round(values, DECIMALS) for values in scores.ends(metric.key)) for scores in (first, other)
    )

    def test(differences: Values) -> Estimate:
        known = differences[~np.isnan(differences)]
        return paired_test(np.where(np.abs(known) <= _SAME, 0.0, known)[:, None], method=metric.interval, strata=())

    least, most = test(two - one_upper), test(two_upper - one)
    if least.mean > 0 or most.mean < 0 or least.p_value is None:
        return least.p_value if least.mean > 0 else most.p_value
    return 1.0


def _over_scenes(*, metric: Column, first: Scores, other: Scores, strata: Sequence[str]) -> Estimate:
    """For executed plans: the difference, scene by scene, over the tasks for which both have a value."""
    one, two = (np.round(scores.by_sample[metric.key], DECIMALS) for scores in (first, other))
    if one.shape != two.shape:
        # One of them executed no plan: each of its tasks counts the same on every sample.
        samples = max(one.shape[1], two.shape[1])
        one, two = (np.repeat(table, samples, axis=1) if table.shape[1] == 1 else table for table in (one, two))
    differences = two - one
    common = ~np.isnan(differences).any(axis=1)
    paired = np.where(np.abs(differences[common]) <= _SAME, 0.0, differences[common])
    known = np.asarray(strata)[common].tolist() if len(strata) else [""] * len(paired)
    runs = [scores.repeated.get(metric.key) for scores in (first, other)]
    # Where neither says how often its planner was asked, nothing can be said of runs; a single run of one is unknown.
    repeated = None if runs == [None, None] else (runs[0] or RepeatedScores(), runs[1] or RepeatedScores())
    return paired_test(paired, method=metric.interval, strata=known, repeated=repeated)


def left_out(*, first: Sequence[str], other: Sequence[str]) -> dict[str, int]:
    """Count the tasks without a score in one of the two by outcome, each once."""
    counts: Counter[str] = Counter()
    for pair in zip(first, other, strict=True):
        reason = next((outcome for outcome in _LEFT_OUT_ORDER if outcome in pair), None)
        if reason is not None:
            counts[str(reason)] += 1
    return {str(outcome): counts[str(outcome)] for outcome in _LEFT_OUT_ORDER if counts[str(outcome)]}


def task_differences(*, metric: Column, scores: Sequence[Scores]) -> tuple[TaskDifference, ...]:
    """All tasks for which at least two evaluations have a value, the largest difference first, then in the suite's
    order.

    Undecided tasks have value 0; the winner does not depend on how they are settled.
    """
    every = np.stack([evaluation.values[metric.key] for evaluation in scores], axis=1)
    places = np.flatnonzero((~np.isnan(every)).sum(axis=1) >= 2)
    table = every[places]
    signed = table if metric.higher_is_better else -table
    best = np.nanmax(signed, axis=1) if len(table) else np.zeros(0)
    spreads = best - np.nanmin(signed, axis=1) if len(table) else best
    spreads[spreads <= _SAME] = 0.0
    highest = signed
    if metric.undecided:
        highest = np.stack([evaluation.ends(metric.key)[1] for evaluation in scores], axis=1)[places]
    is_best = (signed >= best[:, None] - _SAME) | (highest >= best[:, None] - _SAME)
    is_single = (is_best.sum(axis=1) == 1) & metric.ordered
    winners = np.where(is_single, is_best.argmax(axis=1), -1).tolist()
    rows, spread, index = table.tolist(), spreads.tolist(), places.tolist()
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
    span: Span,
    p_value: float | None,
    adjusted: float | None,
) -> MetricDifference:
    one, two = first.values[metric.key], other.values[metric.key]
    common = ~(np.isnan(one) | np.isnan(two))
    count = group_count(metric=metric, span=span)
    return MetricDifference(
        metric=metric,
        first_mean=float(one[common].mean()),
        other_mean=float(two[common].mean()),
        difference=interval,
        least=float(span.least[common].mean()),
        most=float(span.most[common].mean()),
        p_value=p_value,
        adjusted=adjusted,
        wins=count.wins,
        losses=count.losses,
        ties=count.ties,
        undecided=count.undecided,
    )


def group_count(*, metric: Column, span: Span) -> GroupCount:
    """Count wins, losses and ties of some tasks."""
    known, least, most = (end[~np.isnan(end)] for end in span)
    above, below = int((least > _SAME).sum()), int((most < -_SAME).sum())
    ties = int(((np.abs(least) <= _SAME) & (np.abs(most) <= _SAME)).sum())
    wins, losses = ((above, below) if metric.higher_is_better else (below, above)) if metric.ordered else (0, 0)
    return GroupCount(
        tasks=len(known),
        difference=float(known.mean()) if len(known) else None,
        wins=wins,
        losses=losses,
        ties=ties,
        undecided=int(((least <= _SAME) & (most >= -_SAME)).sum()) - ties,
    )


def _adjusted(
    *, p_values: Sequence[float | None], intervals: Sequence[Interval | None], metrics: int
) -> list[float | None]:
    """Adjust the tests of each metric, one per evaluation compared with the first."""
    adjusted = list(p_values)
    for metric in range(metrics):
        tests = {
            column: p_value
            for column in range(metric, len(p_values), metrics)
            if intervals[column] is not None and (p_value := p_values[column]) is not None
        }
        for column, p_value in zip(tests, holm(list(tests.values())), strict=True):
            adjusted[column] = p_value
    return adjusted
