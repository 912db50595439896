"""Paired comparison of evaluations and of their causes, without a database.

The first evaluation is what the others are compared against. A difference is always the other's value less the first's,
over the tasks for which both have one; the metric's direction decides which is better.

Undecided tasks count 0 in means. Intervals, tests, and who is better on a task hold for every way to settle them.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluator.core.records import Outcome
from evaluator.core.suites.base import Column
from evaluator.core.suites.facets import Facet
from evaluator.scoring.causes.taxonomy import Cause
from evaluator.scoring.metrics.aggregate import TaskScore, counted, counted_by_sample
from evaluator.scoring.metrics.crossed import Estimate
from evaluator.scoring.metrics.paired import DECIMALS, bootstrap_columns, holm, paired_test
from evaluator.scoring.metrics.statistics import Bounds, Interval
from leaderboard.evaluations.causes import ordered, words_of_cause
from leaderboard.evaluations.results.task_rows import PENDING, TaskRow

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
    upper: Mapping[str, Values] = MappingProxyType({})
    """As `values`, with undecided tasks counted as the better value; only of metrics that may have such tasks."""

    def ends(self, key: str) -> tuple[Values, Values]:
        """A metric's values with undecided tasks counted as 0, and as the better value."""
        return self.values[key], self.upper.get(key, self.values[key])


class MetricDifference(NamedTuple):
    """One metric of one evaluation against the first."""

    metric: Column
    first_mean: float
    """Over the tasks that both have a value for, as all figures here."""
    other_mean: float
    difference: Interval
    """Its mean counts undecided tasks as 0; its ends hold for every way to settle them."""
    least: float
    """The least mean difference of all ways to settle undecided tasks; `most` is the largest. Both are the mean where
    every task is decided."""
    most: float
    p_value: float | None
    """None over too few scenes or tasks for a test."""
    adjusted: float | None
    """By Holm's method over the evaluations that are compared with the first; equal to `p_value` for one."""
    wins: int
    """Tasks on which the other is better than the first; 0 for sizes, which have no better."""
    losses: int
    ties: int
    undecided: int
    """Tasks on which the judge's doubt leaves open which is better."""


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
    undecided: int


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
    values, tables, upper = dict[str, Values](), dict[str, Values](), dict[str, Values]()
    for metric in metrics:
        row = np.full(len(tasks), np.nan)
        row[places] = np.array(counted(column=metric, results=found), dtype=np.float64)
        values[metric.key] = row
        if metric.interval.over_scenes:
            tables[metric.key] = _by_sample(metric=metric, row=row, places=places, found=found)
        if metric.undecided:
            upper[metric.key] = np.full(len(tasks), np.nan)
            upper[metric.key][places] = np.array(counted(column=metric, results=found, upper=True), dtype=np.float64)
    return Scores(outcomes=tuple(outcomes), values=values, by_sample=tables, upper=upper)


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
    spans = [_span(key=metric.key, first=first, other=other) for other in others for metric in metrics]
    bounds = [_bounds(metric) for _ in others for metric in metrics]
    intervals = _bootstrapped([span.mean for span in spans], bounds=bounds)
    if any(metric.undecided for metric in metrics):
        least, most = (
            _bootstrapped([getattr(span, end) for span in spans], bounds=bounds) for end in ("least", "most")
        )
        intervals = [
            replace(found, low=low.low, high=high.high) if found and low and high else None
            for found, low, high in zip(intervals, least, most, strict=True)
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
    adjusted = _adjusted(p_values=p_values, known=[one is not None for one in intervals], metrics=len(metrics))
    pairs = []
    for number, other in enumerate(others):
        columns = range(number * len(metrics), (number + 1) * len(metrics))
        found = [
            _difference(
                metric=metric, first=first, other=other, interval=interval, span=spans[column],
                p_value=p_values[column], adjusted=adjusted[column],
            )
            for metric, column in zip(metrics, columns, strict=True)
            if (interval := intervals[column]) is not None
        ]  # fmt: skip
        pairs.append(Pair(differences=tuple(found), left_out=left_out(first=first.outcomes, other=other.outcomes)))
    return tuple(pairs)


class _Span(NamedTuple):
    """(tasks,) each: differences with undecided tasks counted as 0, the least and the largest of all ways to settle
    them."""

    mean: Values
    least: Values
    most: Values


def _span(*, key: str, first: Scores, other: Scores) -> _Span:
    (one, one_upper), (two, two_upper) = first.ends(key), other.ends(key)
    return _Span(two - one, two - one_upper, two_upper - one)


def _bounds(metric: Column) -> Bounds:
    """Of differences in a metric."""
    return (-math.inf, None) if metric.high is None else (metric.low - metric.high, metric.high - metric.low)


def _bootstrapped(differences: Sequence[Values], *, bounds: Sequence[Bounds]) -> list[Interval | None]:
    table = np.stack(differences, axis=1)
    # Tasks without any score would only slow down the bootstrap.
    paired = table[~np.isnan(table).all(axis=1)]
    return bootstrap_columns(np.where(np.abs(paired) <= _SAME, 0.0, paired), bounds=bounds)


def _p_value(*, metric: Column, first: Scores, other: Scores) -> float | None:
    """Of judged plans: the largest p-value of all ways to settle undecided tasks; 1 where the order depends on them."""
    (one, one_upper), (two, two_upper) = (
        tuple(np.round(values, DECIMALS) for values in scores.ends(metric.key)) for scores in (first, other)
    )
    least, most = (_tested(two - one_upper, metric=metric), _tested(two_upper - one, metric=metric))
    if least.mean > 0 or most.mean < 0 or least.p_value is None:
        return least.p_value if least.mean > 0 else most.p_value
    return 1.0


def _tested(differences: Values, *, metric: Column) -> Estimate:
    known = differences[~np.isnan(differences)]
    return paired_test(np.where(np.abs(known) <= _SAME, 0.0, known)[:, None], method=metric.interval, strata=())


def _over_scenes(*, metric: Column, first: Scores, other: Scores, strata: Sequence[str]) -> Estimate:
    """Of executed plans: the difference, scene by scene, over the tasks that both have a value for."""
    one, two = (np.round(scores.by_sample[metric.key], DECIMALS) for scores in (first, other))
    if one.shape != two.shape:
        # One of them executed no plan: all its tasks count the same on every sample.
        samples = max(one.shape[1], two.shape[1])
        one, two = (np.repeat(table, samples, axis=1) if table.shape[1] == 1 else table for table in (one, two))
    differences = two - one
    common = ~np.isnan(differences).any(axis=1)
    found = np.where(np.abs(differences[common]) <= _SAME, 0.0, differences[common])
    known = np.asarray(strata)[common].tolist() if len(strata) else []
    return paired_test(found, method=metric.interval, strata=known)


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
    first = scores[0]
    rows = []
    for value, places in members.items():
        counts = tuple(
            _group_count(
                metric=metric, span=_Span(*(end[places] for end in _span(key=metric.key, first=first, other=other)))
            )
            for other in scores[1:]
        )
        if any(count.tasks for count in counts):
            rows.append(GroupRow(value=value, counts=counts))
    return tuple(rows)


def task_differences(*, metric: Column, scores: Sequence[Scores]) -> tuple[TaskDifference, ...]:
    """Every task that at least two have a value for, the largest difference first, then in the suite's order.

    Undecided tasks have value 0; who wins does not depend on how they are settled.
    """
    table = np.stack([one.values[metric.key] for one in scores], axis=1)
    places = np.flatnonzero((~np.isnan(table)).sum(axis=1) >= 2)
    found = table[places]
    signed = found if metric.higher_is_better else -found
    best = np.nanmax(signed, axis=1) if len(found) else np.zeros(0)
    spreads = best - np.nanmin(signed, axis=1) if len(found) else best
    spreads[spreads <= _SAME] = 0.0
    highest = np.stack([one.ends(metric.key)[1] for one in scores], axis=1)[places] if metric.undecided else signed
    is_best = (signed >= best[:, None] - _SAME) | (highest >= best[:, None] - _SAME)
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
    span: _Span,
    p_value: float | None,
    adjusted: float | None,
) -> MetricDifference:
    one, two = first.values[metric.key], other.values[metric.key]
    common = ~(np.isnan(one) | np.isnan(two))
    count = _group_count(metric=metric, span=span)
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


def _group_count(*, metric: Column, span: _Span) -> GroupCount:
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


Causes = Sequence[tuple[str, ...] | None]
"""Of each task, in the suite's order: its causes; None where it did not run, or where they are not known."""


class CauseCount(NamedTuple):
    """One evaluation against the first, over the tasks for which the causes of both are known."""

    tasks: int
    """With the cause in the other evaluation."""
    first: int
    """With the cause in the first."""
    both: int

    @property
    def more(self) -> int:
        """Tasks that have it in the other evaluation only."""
        return self.tasks - self.both

    @property
    def fewer(self) -> int:
        """Tasks that have it in the first only."""
        return self.first - self.both

    @property
    def difference(self) -> int:
        """The other's tasks less the first's."""
        return self.tasks - self.first

    @property
    def shown(self) -> str:
        """The difference with its sign."""
        return f"{self.difference:+d}".replace("-", "\N{MINUS SIGN}") if self.difference else "0"


class CauseRow(NamedTuple):
    """One cause."""

    cause: str
    """The value of the filter `why`."""
    label: str
    definition: str
    counts: tuple[CauseCount, ...]
    """For each evaluation after the first."""


class CauseTable(NamedTuple):
    """All causes that one of the evaluations has, in the order in which causes are listed."""

    rows: tuple[CauseRow, ...]
    common: tuple[int, ...]
    """For each evaluation after the first, the tasks for which the causes of both are known."""


def cause_table(evaluations: Sequence[Causes]) -> CauseTable:
    """Count the causes of evaluations against the first; at least two."""
    first, *others = evaluations
    pairs = [
        [(set(one), set(two)) for one, two in zip(first, other, strict=True) if one is not None and two is not None]
        for other in others
    ]
    codes = ordered(code for pair in pairs for one, two in pair for code in one | two)
    rows = tuple(
        CauseRow(
            code, words_of_cause(code), Cause(code).definition, tuple(_count(code=code, pair=pair) for pair in pairs)
        )
        for code in codes
    )
    return CauseTable(rows=rows, common=tuple(map(len, pairs)))


def _count(*, code: str, pair: Sequence[tuple[set[str], set[str]]]) -> CauseCount:
    return CauseCount(
        tasks=sum(code in two for _, two in pair),
        first=sum(code in one for one, _ in pair),
        both=sum(code in one and code in two for one, two in pair),
    )
