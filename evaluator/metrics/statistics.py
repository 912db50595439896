"""Intervals and tests, pure and seeded. No torch: the web server uses them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 2000
SEED = 20240229


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with a 95 % interval, in the unit of the values."""

    mean: float
    low: float
    high: float
    count: int
    """Number of clusters (tasks)."""


def cluster_bootstrap(values: Sequence[float]) -> Interval:
    """Mean of per-task values with a percentile bootstrap interval over tasks.

    A task is the cluster: its samples share request and plan, so they are averaged before and resampled together
    (Efron and Tibshirani, An Introduction to the Bootstrap, section 8.3).

    Args:
        values: one mean score per task, at least one; the result does not depend on their order.
    """
    if not values:
        raise ValueError("an interval needs at least one value")
    array = np.sort(np.asarray(values, dtype=np.float64))
    rng = np.random.default_rng(SEED)
    means = array[rng.integers(0, len(array), size=(RESAMPLES, len(array)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return Interval(mean=float(array.mean()), low=float(low), high=float(high), count=len(array))
