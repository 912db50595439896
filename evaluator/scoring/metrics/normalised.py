"""A score between two anchors on the same tasks and samples: doing nothing gets 0, gold plans get 1. Pure.

It is the ratio of two means, (s - n) / (g - n), that are measured together and therefore correlated. Its interval is by
the delta method: the error of the ratio R is that of the mean of (s - n) - R (g - n), divided by the mean of g - n
(Cochran, Sampling Techniques, section 6.4). Fieller's interval differs from it only where the denominator is uncertain
itself; gold plans are dozens of standard errors better than doing nothing.
"""

from collections.abc import Sequence

import numpy as np

from evaluator.core.suites.base import IntervalMethod
from evaluator.scoring.metrics.crossed import Matrix, fixed_tasks, sampled_tasks
from evaluator.scoring.metrics.statistics import Interval, interval
from evaluator.scoring.metrics.student import critical_value


class AnchorsError(Exception):
    """The anchors leave no room between them; the message is a sentence."""


def normalised(
    *, scores: Matrix, gold: Matrix, floor: Matrix, method: IntervalMethod, strata: Sequence[str]
) -> Interval:
    """The normalised mean with its 95 % interval, which has no width for the anchors themselves.

    Args:
        scores: (tasks, samples); NaN where a task does not count. Only tasks that count in all three are compared.
        gold: of the gold plans, on the same tasks and samples.
        floor: of a planner that does nothing.
        method: `FIXED_TASKS` or `SAMPLED_TASKS`, as of the column.
        strata: the metric of each task.

    Raises:
        AnchorsError: no task counts in all three, or gold plans are no better than doing nothing.
    """
    common = np.asarray(~np.isnan(scores + gold + floor).any(axis=1))
    if not common.any():
        raise AnchorsError("The anchors have no task in common with it.")
    above, room = (scores - floor)[common], (gold - floor)[common]
    if room.mean() <= 0:
        raise AnchorsError("Gold plans are no better than doing nothing.")
    ratio = float(above.mean() / room.mean())
    rest = above - ratio * room
    names = [name for name, counts in zip(strata, common.tolist(), strict=True) if counts]
    estimate = fixed_tasks(rest) if method is IntervalMethod.FIXED_TASKS else sampled_tasks(rest, strata=names)
    half = critical_value(estimate.df) * estimate.error / float(room.mean()) if estimate.enough else 0.0
    return interval(mean=ratio, low=ratio - half, high=ratio + half, count=len(above), enough=estimate.enough)
