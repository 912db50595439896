"""Means over crossed tasks and scenes: every task is measured on the same scenes. Pure and closed-form.

There are two estimands. For a fixed list of requests only the scenes are a sample. For generated requests both are
samples: of all requests of the generator, and of all scenes.

A score is modelled as mean + task + scene + rest. Tasks of one metric are a stratum, whose size is fixed. With T tasks
of S strata (n_s tasks, weight n_s / T) and K scenes, the variance of the mean is estimated by

- fixed tasks: the variance of the scenes' means, / K;
- both sampled: sum_s weight_s^2 (variance of the tasks' means in s) / n_s, plus the variance of the scenes' means / K,
  less sum_s weight_s^2 (residual mean square in s) / (n_s K), which both of them contain.

Runs of a planner that may answer otherwise vary between tasks, so that the second variance contains theirs. The first
does not: `with_runs_of` adds what `runs.py` estimates from tasks that were asked again.

One task alone says nothing about the variance in its stratum: strata of one task are pooled (`pooled_strata`).

The second is the closed form of resampling tasks and scenes independently (Owen, The Pigeonhole Bootstrap, Annals of
Applied Statistics 1(2), 2007; Cameron, Gelbach and Miller, Robust Inference with Multiway Clustering, JBES 29(2), 2011,
equation 2.11). Intervals use Student's t with the degrees of freedom of Satterthwaite (Biometrics Bulletin 2(6), 1946).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evaluator.core.suites.base import IntervalMethod
from evaluator.scoring.metrics.runs import (
    NO_VARIANCE,
    RepeatedScores,
    RunVariance,
    half_width,
    p_values_with_runs,
    run_variance,
)
from evaluator.scoring.metrics.statistics import (
    LEAST_UNITS,
    UNIT,
    Bounds,
    Interval,
    interval,
    without_spread,
)
from evaluator.scoring.metrics.student import critical_value, two_sided_p

Matrix = NDArray[np.float64]
EQUAL_MEANS = 1e-12
"""Tolerance for rounding errors of means."""


def are_enough(*, tasks: int, scenes: int, method: IntervalMethod) -> bool:
    """Whether there are enough tasks and scenes for an interval or a test by a column's method: shares have exact ones
    over any number of tasks, all others Student's t."""
    if method is IntervalMethod.FIXED_TASKS:
        return scenes >= LEAST_UNITS
    if method is IntervalMethod.WILSON:
        return tasks >= 1
    return tasks >= LEAST_UNITS and (scenes >= LEAST_UNITS or method is not IntervalMethod.SAMPLED_TASKS)


def sign_p_value(units: int) -> float:
    """Two-sided p-value of a sign test on differences that are all equal, for which t has no standard error."""
    return 2.0 ** (1 - min(units, 1000))


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean over tasks and scenes with its standard error."""

    mean: float
    error: float
    """Standard error without the runs of `runs`, in the unit of the scores."""
    df: float
    """Degrees of freedom of the standard error, at least 1."""
    runs: RunVariance = NO_VARIANCE
    """The variance by the runs of the planner where `error` does not contain it."""
    over_scenes: float = 0.0
    """The part of the squared error that more scenes would reduce; the rest is that of tasks and runs."""
    units: int
    """Independent units: scenes, or the smaller number of scenes and tasks."""
    tasks: int
    enough: bool
    """Whether there are enough units for an interval and a test (`are_enough`)."""
    bounds: Bounds = UNIT
    """Of a value."""
    exact_p: float | None = None
    """The p-value of an exact test, if there is one."""
    least_p: float = 0.0
    """The least p-value of Student's t."""

    @property
    def interval(self) -> Interval:
        """The 95 % interval; without ends for too few units.

        For values without variance it is that of `without_spread` over the units or the tasks, whichever are more.
        """
        if self.error <= EQUAL_MEANS and self.runs.variance <= 0:
            units = max(self.units, self.tasks)
            return without_spread(mean=self.mean, bounds=self.bounds, count=self.tasks, units=units, enough=self.enough)
        half = self.half_width() if self.enough else 0.0
        low, high = self.mean - half, self.mean + half
        return interval(mean=self.mean, low=low, high=high, count=self.tasks, enough=self.enough)

    @property
    def p_value(self) -> float | None:
        """Two-sided p-value of the hypothesis that the mean is 0; None for too few units. Differences without variance
        have that of `sign_p_value` over the units or the tasks, whichever are more."""
        if not self.enough:
            return None
        if self.exact_p is not None:
            return self.exact_p
        if abs(self.mean) <= EQUAL_MEANS:
            return 1.0
        if self.runs.variance > 0:
            values = (self.mean, self.error**2, self.df, self.runs.variance, self.runs.df)
            mean, variance, df, runs, runs_df = (np.array([value]) for value in values)
            return float(p_values_with_runs(mean=mean, variance=variance, df=df, runs=runs, runs_df=runs_df)[0])
        if self.error <= EQUAL_MEANS:
            return sign_p_value(max(self.units, self.tasks))
        return max(two_sided_p(t=self.mean / self.error, df=self.df), self.least_p)

    def half_width(self, *, chance: float = 0.05) -> float:
        """Half the width of the interval, by default of 95 %."""
        return half_width(variance=self.error**2, df=self.df, runs=self.runs, chance=chance)


def fixed_tasks(scores: Matrix, *, bounds: Bounds = UNIT) -> Estimate:
    """The mean of a fixed list of tasks, with the scenes as a sample.

    Args:
        scores: (tasks, scenes), without NaN.
        bounds: bounds of a score.
    """
    tasks, scenes = _shape(scores)
    over_scenes = _variance_of_mean(scores.mean(axis=0))
    return Estimate(
        mean=float(scores.mean()),
        error=math.sqrt(over_scenes),
        over_scenes=over_scenes,
        df=max(scenes - 1, 1),
        units=scenes,
        tasks=tasks,
        enough=are_enough(tasks=tasks, scenes=scenes, method=IntervalMethod.FIXED_TASKS),
        bounds=bounds,
    )


def with_runs_of(estimate: Estimate, *, scores: Matrix, repeated: RepeatedScores) -> Estimate:
    """The mean of a fixed list with the variance by the runs of the planner, if it is known.

    The spread between the tasks contains that of the runs, and is known from all tasks: where it gives the narrower
    interval, it takes the place of the estimate from the tasks that were asked again.

    Args:
        estimate: of `fixed_tasks`.
        scores: (tasks, scenes), without NaN.
        repeated: what is known about the row's runs.
    """
    tasks, _ = _shape(scores)
    runs = run_variance(repeated, tasks=tasks)
    if runs is None:
        return estimate
    between = RunVariance(_variance_of_mean(scores.mean(axis=1)), max(tasks - 1, 1))
    ways = [replace(estimate, runs=one) for one in ((runs, between) if tasks > 1 and runs.variance > 0 else (runs,))]
    return min(ways, key=Estimate.half_width)


def sampled_tasks(scores: Matrix, *, strata: Sequence[str], bounds: Bounds = UNIT) -> Estimate:
    """The mean over all tasks and scenes, with both as samples.

    Args:
        scores: (tasks, scenes), without NaN.
        strata: stratum of each task; the share of each stratum is fixed.
        bounds: bounds of a score.
    """
    tasks, scenes = _shape(scores)
    between, rest, df_tasks = 0.0, 0.0, 0.0
    names = pooled_strata(strata)
    for name in np.unique(names):
        members = scores[names == name]
        share = (len(members) / tasks) ** 2
        part = share * _variance_of_mean(members.mean(axis=1))
        between += part
        rest += share * _residual(members) / members.size
        df_tasks += part**2 / max(len(members) - 1, 1)
    over_scenes = _variance_of_mean(scores.mean(axis=0))
    variance = max(between + over_scenes - rest, between, over_scenes)
    spread = df_tasks + over_scenes**2 / max(scenes - 1, 1)
    return Estimate(
        mean=float(scores.mean()),
        error=math.sqrt(variance),
        over_scenes=min(over_scenes, variance),
        df=max((between + over_scenes) ** 2 / spread, 1.0) if spread > 0 else float(max(scenes - 1, 1)),
        units=min(tasks, scenes),
        tasks=tasks,
        enough=are_enough(tasks=tasks, scenes=scenes, method=IntervalMethod.SAMPLED_TASKS),
        bounds=bounds,
    )


def pooled_strata(strata: Sequence[str]) -> NDArray[np.int_]:
    """A number for the stratum of each task, where the strata of one task are one stratum; a single such stratum is
    pooled with the next smallest.

    The variance is then too large by what separates the pooled strata (collapsed strata: Cochran, Sampling Techniques,
    section 5A.12); without pooling it would lack theirs altogether.
    """
    kinds, numbers = np.unique(np.asarray(strata, dtype=str), return_inverse=True)
    counts = np.bincount(numbers)
    order = np.argsort(counts, kind="stable")
    alone = order[: max(int((counts == 1).sum()), 2 if 1 in counts else 0)]
    merged = np.arange(len(kinds))
    merged[alone] = alone.min(initial=0)
    return merged[numbers]


def _shape(scores: Matrix) -> tuple[int, int]:
    if scores.ndim != 2 or not scores.size:
        raise ValueError(f"scores are a table of tasks by scenes with at least one value, not of shape {scores.shape}")
    return scores.shape[0], scores.shape[1]


def _variance_of_mean(values: Matrix) -> float:
    """Variance of the mean; 0 for a single value."""
    return float(values.var(ddof=1)) / len(values) if len(values) > 1 else 0.0


def _residual(scores: Matrix) -> float:
    """Residual mean square of the model with task and scene effects."""
    tasks, scenes = scores.shape
    if tasks < 2 or scenes < 2:
        return 0.0
    rest = scores - scores.mean(axis=1, keepdims=True) - scores.mean(axis=0, keepdims=True) + scores.mean()
    return float(np.square(rest).sum() / ((tasks - 1) * (scenes - 1)))


class AnchorsError(Exception):
    """The anchors have no positive distance; the message is a sentence."""


def normalised(
    *, scores: Matrix, gold: Matrix, floor: Matrix, method: IntervalMethod, strata: Sequence[str]
) -> Interval:
    """The normalised mean with its 95 % interval, which has no width for the anchors themselves.

    Args:
        scores: (tasks, samples); NaN if a task does not count. Only tasks that count in all three are compared.
        gold: scores of the gold plans, on the same tasks and samples.
        floor: scores of a planner that does nothing.
        method: method of the column, `FIXED_TASKS` or `SAMPLED_TASKS`.
        strata: metric of each task.

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
