"""The ratio of two means over the same tasks, with a paired interval. Pure and seeded."""

from collections.abc import Sequence

import numpy as np

from evaluator.scoring.metrics.statistics import RESAMPLES, SEED, Interval, interval, unseen_share


def ratio_of_means(*, changed: Sequence[float], unchanged: Sequence[float], most: float = 1.0) -> Interval | None:
    """The mean of the changed values over that of the unchanged ones, with a 95 % percentile bootstrap interval.

    Tasks are drawn with both of their values (Efron and Tibshirani, An Introduction to the Bootstrap, section 10.3).
    Draws in which no unchanged value is positive are left out. Where every task has the same ratio, the interval has
    the width that `statistics.unseen_share` gives it: so many of the tasks that were not drawn may lose everything, or
    gain all that there is.

    Args:
        changed: a value for each task, not negative.
        unchanged: of the same tasks, in the same order.
        most: the largest value that a task can have.

    Returns:
        None without tasks, or if the mean of the unchanged values is 0.
    """
    over, under = np.asarray(changed, dtype=np.float64), np.asarray(unchanged, dtype=np.float64)
    if not len(under) or under.sum() == 0:
        return None
    ratio = float(over.sum() / under.sum())
    if np.allclose(over, ratio * under, rtol=0, atol=1e-12):
        share = unseen_share(len(under))
        kept = ratio * (1 - share)
        return interval(mean=ratio, low=kept, high=kept + share * most / float(under.mean()), count=len(under))
    drawn = np.random.default_rng(SEED).integers(0, len(under), size=(RESAMPLES, len(under)))
    sums = under[drawn].sum(axis=1)
    ratios = over[drawn].sum(axis=1)[sums > 0] / sums[sums > 0]
    low, high = np.quantile(ratios, [0.025, 0.975])
    return interval(mean=ratio, low=float(low), high=float(high), count=len(under))
