"""Comparing two evaluations task by task: intervals of many metrics at once, and the paired test. Pure and seeded.

Intervals work on one table: a row for each task, a column for each comparison (a metric of a pair of evaluations), NaN
where one of the two has no score. The same draws serve all columns, which makes a page of twelve metrics over thousands
of tasks as cheap as one. Tests are in closed form: Holm's method over all pairs of a board needs p-values far below
what random sign changes can show.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from evaluator.core.suites.base import IntervalMethod
from evaluator.scoring.metrics.crossed import Estimate, are_enough, fixed_tasks, sampled_tasks
from evaluator.scoring.metrics.statistics import (
    DIFFERENCES,
    RESAMPLES,
    SEED,
    Bounds,
    Interval,
    interval,
    without_spread,
)

Table = NDArray[np.float64]
DECIMALS = 6
"""Scores are compared as they are published."""


def bootstrap_columns(differences: Table, *, bounds: Sequence[Bounds]) -> list[Interval | None]:
    """Mean of each column with a 95 % percentile bootstrap interval over tasks.

    Tasks are the clusters, as in `statistics.cluster_bootstrap`: whole rows are drawn with replacement, and a column's
    mean is taken over the drawn rows in which it has a value (Efron and Tibshirani, An Introduction to the Bootstrap,
    sections 8.3 and 13.3). Exchanging the two evaluations only changes signs.

    Args:
        differences: (tasks, columns), NaN where there is no pair. The order of the rows decides which are drawn
            together, so give them in the suite's order.
        bounds: of the values of each column. Those that are all equal have the interval of `without_spread`.

    Returns:
        One for each column; None for a column without any value.
    """
    known = ~np.isnan(differences)
    counts = known.sum(axis=0)
    if not counts.any():
        return [None] * differences.shape[1]
    weights = _draws(len(differences)).astype(np.float32)
    sums = weights @ np.where(known, differences, 0.0).astype(np.float32)
    with np.errstate(invalid="ignore"):
        means = sums / (weights @ known.astype(np.float32))
    return [
        _interval(values=differences[known[:, column], column], means=means[:, column], bounds=bounds[column])
        if counts[column]
        else None
        for column in range(differences.shape[1])
    ]


def paired_test(differences: Table, *, method: IntervalMethod, strata: Sequence[str]) -> Estimate:
    """The mean of paired differences with its test, the same on the comparison page and on boards.

    Over scenes it is the estimate of `crossed`. Of judged plans, values that are 0 or 1 have McNemar's exact test
    (`exact_p`), graded values Student's paired t over the tasks.

    Args:
        differences: (tasks, samples) of the tasks that both have a score for, at least one; one sample where plans are
            judged. Rounded to `DECIMALS` before they were subtracted, so that equal plans tie.
        method: of the column.
        strata: the metric of each task, for `SAMPLED_TASKS`.
    """
    if method is IntervalMethod.FIXED_TASKS:
        return fixed_tasks(differences, bounds=DIFFERENCES)
    if method is IntervalMethod.SAMPLED_TASKS:
        return sampled_tasks(differences, strata=strata, bounds=DIFFERENCES)
    values = differences.mean(axis=1)
    # One "task" of as many scenes: the tasks are the units.
    enough = are_enough(tasks=len(values), scenes=1, method=method)
    estimate = replace(fixed_tasks(values[None, :], bounds=DIFFERENCES), tasks=len(values), enough=enough)
    is_binary = method is IntervalMethod.WILSON and np.isin(values, (-1.0, 0.0, 1.0)).all()
    return replace(estimate, exact_p=mcnemar(values)) if is_binary else estimate


def mcnemar(differences: Table) -> float:
    """Two-sided p-value of McNemar's exact test: of the tasks that differ, as many may favour either side.

    Args:
        differences: (tasks,) of values that are 0 or 1.

    Returns:
        In (0, 1]; 1 without any difference.
    """
    more, less = int((differences > 0).sum()), int((differences < 0).sum())
    if not more + less:
        return 1.0
    return min(1.0, 2 * _sign_test(positive=max(more, less), total=more + less))


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values of several tests, each adjusted so that the chance of any false finding among them is bounded.

    Holm, A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of Statistics 6(2), 1979: the
    smallest is multiplied by the number of tests, the next by one less, and none falls below one before it.
    """
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    adjusted = [1.0] * len(p_values)
    largest = 0.0
    for place, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = largest
    return adjusted


@lru_cache(maxsize=4)
def _draws(tasks: int) -> NDArray[np.uint16]:
    """(RESAMPLES, tasks): how often each resample draws each task. The same for every table of this length."""
    rng = np.random.default_rng(SEED)
    drawn = rng.integers(0, tasks, size=(RESAMPLES, tasks))
    drawn += np.arange(RESAMPLES)[:, None] * tasks
    return np.bincount(drawn.ravel(), minlength=RESAMPLES * tasks).reshape(RESAMPLES, tasks).astype(np.uint16)


def _interval(*, values: Table, means: NDArray[np.float32], bounds: Bounds) -> Interval:
    # A resample may hold none of a column's tasks, where these are few; it tells nothing then.
    low, high = np.nanquantile(means.astype(np.float64), [0.025, 0.975])
    mean = float(values.mean())
    if values.min() == values.max():
        return without_spread(mean=mean, bounds=bounds, count=len(values))
    return interval(mean=mean, low=float(low), high=float(high), count=len(values))


def _sign_test(*, positive: int, total: int) -> float:
    """Chance that a fair coin shows heads at least `positive` times of `total`, in whole numbers until the end."""
    ways = comb(total, positive)
    count = ways
    for heads in range(positive, total):
        ways = ways * (total - heads) // (heads + 1)
        count += ways
    return float(count / 2**total)
