"""Comparing two evaluations task by task: intervals and p-values of many metrics at once. Pure and seeded.

Both halves work on one table: a row for each task, a column for each comparison (a metric of a pair of evaluations),
NaN where one of the two has no score. The same draws serve all columns, which makes a page of twelve metrics over
thousands of tasks as cheap as one.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from evaluator.metrics.statistics import PERMUTATIONS, RESAMPLES, SEED, Interval, interval, paired_permutation

Table = NDArray[np.float64]
_FEW = 14
"""Differences up to which `paired_permutation` tries all sign changes."""
_AT_ONCE = 2000
"""Sign changes that are held in memory together."""


def bootstrap_columns(differences: Table) -> list[Interval | None]:
    """Mean of each column with a 95 % percentile bootstrap interval over tasks.

    Tasks are the clusters, as in `statistics.cluster_bootstrap`: whole rows are drawn with replacement, and a column's
    mean is taken over the drawn rows in which it has a value (Efron and Tibshirani, An Introduction to the Bootstrap,
    sections 8.3 and 13.3). Exchanging the two evaluations only changes signs.

    Args:
        differences: (tasks, columns), NaN where there is no pair. The order of the rows decides which are drawn
            together, so give them in the suite's order.

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
        _interval(values=differences[known[:, column], column], means=means[:, column]) if counts[column] else None
        for column in range(differences.shape[1])
    ]


def two_sided_p_values(differences: Table) -> list[float]:
    """Two-sided p-value of each column's paired differences being as likely positive as negative.

    It is twice the one-sided p-value of `statistics.paired_permutation` in the direction that was seen, at most 1.
    Where all differences have one size, as those of yes-or-no figures, the share of all sign changes is known without
    drawing (the exact sign test, which is McNemar's exact test here); few differences are all tried out; for others
    `PERMUTATIONS` random sign changes are drawn, with the seen one counted in.

    Args:
        differences: (tasks, columns), NaN where there is no pair; zeros tell nothing either way.

    Returns:
        One in (0, 1] for each column; 1 without any difference.
    """
    table = np.nan_to_num(differences, nan=0.0)
    oriented = table * np.where(table.sum(axis=0) < 0, -1.0, 1.0)
    found = [_exact(oriented[:, column]) for column in range(table.shape[1])]
    drawn = [column for column, p_value in enumerate(found) if p_value is None]
    if drawn:
        for column, p_value in zip(drawn, _drawn(oriented[:, drawn]), strict=True):
            found[column] = p_value
    return [1.0 if p_value is None else min(1.0, 2 * p_value) for p_value in found]


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


def _interval(*, values: Table, means: NDArray[np.float32]) -> Interval:
    # A resample may hold none of a column's tasks, where these are few; it tells nothing then.
    low, high = np.nanquantile(means.astype(np.float64), [0.025, 0.975])
    mean = float(values.mean())
    if values.min() == values.max():
        return interval(mean=mean, low=mean, high=mean, count=len(values))
    return interval(mean=mean, low=float(low), high=float(high), count=len(values))


def _exact(differences: Table) -> float | None:
    """The one-sided p-value, if it can be had without drawing."""
    present = differences[differences != 0]
    if len(present) <= _FEW:
        return paired_permutation(present.tolist())
    sizes = np.abs(present)
    if sizes.min() < sizes.max():
        return None
    return _sign_test(positive=int((present > 0).sum()), total=len(present))


def _sign_test(*, positive: int, total: int) -> float:
    """Chance that a fair coin shows heads at least `positive` times of `total`, in whole numbers until the end."""
    ways = comb(total, positive)
    count = ways
    for heads in range(positive, total):
        ways = ways * (total - heads) // (heads + 1)
        count += ways
    return float(count / 2**total)


def _drawn(differences: Table) -> list[float]:
    """One-sided p-values by random sign changes, the same for all columns."""
    rows = differences[(differences != 0).any(axis=1)].astype(np.float32)
    # Sums in single precision: what equals the seen sum but for rounding counts as equal.
    seen = rows.sum(axis=0) - 1e-6 * np.abs(rows).sum(axis=0)
    rng = np.random.default_rng(SEED)
    extreme = np.zeros(rows.shape[1], dtype=np.int64)
    width = -(-len(rows) // 8)
    for _ in range(PERMUTATIONS // _AT_ONCE):
        packed = rng.integers(0, 256, size=(_AT_ONCE, width), dtype=np.uint8)
        chosen = np.unpackbits(packed, axis=1, count=len(rows)).astype(np.float32)
        # Signs are 2 b - 1 for bits b: the sum of signed values is twice that of the chosen ones less that of all.
        extreme += np.count_nonzero(2 * (chosen @ rows) - rows.sum(axis=0) >= seen, axis=0)
    return [float(value) for value in (1 + extreme) / (PERMUTATIONS + 1)]
