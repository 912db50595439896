"""How much a score depends on the run: a planner that is asked again may answer otherwise. Pure.

A board compares planners by one run each. On requests that are a sample, the spread between requests contains that of
the runs, since each request was answered in a run of its own. On a fixed list it does not: there the component of the
runs is estimated from tasks that were asked again, a random tenth by default, and added to that of the scenes.

The variance of a mean over T tasks of one run each is the mean variance within a task, divided by T. The mean variance
is estimated from the tasks that were asked again. Few of them may miss the few tasks on which a planner wavers: in
simulations with 18 tasks of 185, three runs each, intervals from their plain mean covered in 40 % of the cases. One
task more is therefore counted as if its answers were as different as they can be, as Agresti and Coull (The American
Statistician 52(2), 1998) and Bonett and Price (2012) do for shares.

What is not known of that variance has a gamma distribution around the estimate, with Satterthwaite's degrees of
freedom (Biometrics Bulletin 2(6), 1946). Tests and intervals are averages of Student's over it. Student's own
distribution would stand for a variance without an upper bound, which that of scores between 0 and 1 has.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import comb

import numpy as np

from evaluator.scoring.metrics.statistics import UNIT, Bounds, Interval, mean_of_tasks
from evaluator.scoring.metrics.student import Array, critical_value, two_sided_p_values

_SAME = 1e-6
"""Largest difference of equal scores, which are published with six decimals."""


@dataclass(frozen=True, slots=True)
class RepeatedScores:
    """What is known about the runs of one row: the scores of tasks that were asked more than once."""

    by_task: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """The scores of each run of a task, the first one included, at least two. The tasks are a random sample of all."""
    is_deterministic: bool = False
    """Whether runs add no variance. It is known from the answers, not from the scores: another device may score the
    same answer otherwise."""
    shown: int = 1
    """Number of runs that the row's value of a task is the mean of."""
    bounds: Bounds = UNIT
    """Of a score. Without an upper bound, the largest range of the scores stands for it."""

    def __post_init__(self) -> None:
        if any(len(scores) < 2 for scores in self.by_task.values()):
            raise ValueError("a task that was asked again has the scores of at least two runs")


@dataclass(frozen=True, slots=True)
class RunVariance:
    """An estimated variance of a mean by the runs alone."""

    variance: float
    """In the squared unit of the scores."""
    df: float
    """Degrees of freedom of the estimate, at least 1; infinite if the variance is known."""


NO_VARIANCE = RunVariance(0.0, math.inf)
"""Of a planner that answers equal requests alike."""


def run_variance(repeated: RepeatedScores, *, tasks: int) -> RunVariance | None:
    """The variance of a row's mean if the planner were asked again for the same requests.

    Degrees of freedom are those of a scaled chi-squared variable with the mean and the variance of the estimate, where
    its variance is that between the tasks asked again: where most of them are steady and few are not, there are hardly
    any.

    Args:
        repeated: of the row.
        tasks: number of tasks of the mean.

    Returns:
        None for a single run of a planner that may answer otherwise.
    """
    if repeated.is_deterministic:
        return NO_VARIANCE
    if not repeated.by_task:
        return None
    within = [float(np.var(scores, ddof=1)) for scores in repeated.by_task.values()]
    values = np.array([*within, _most_variance(repeated)])
    mean = float(values.mean())
    if mean <= 0:
        return NO_VARIANCE
    spread = float(values.var(ddof=1)) / len(values)
    df = math.inf if spread <= 0 else max(2 * mean**2 / spread, 1.0)
    return RunVariance(mean / tasks / repeated.shown, df)


def added(parts: Iterable[RunVariance]) -> RunVariance:
    """The sum of independent variances, with Satterthwaite's degrees of freedom."""
    known = [part for part in parts if part.variance > 0]
    total = math.fsum(part.variance for part in known)
    spread = math.fsum(part.variance**2 / part.df for part in known)
    return RunVariance(total, total**2 / spread if spread > 0 else math.inf)


_NODES = 61
"""Points of the numerical integration over the variance by the runs, evenly spaced in its logarithm."""
_MOST_PAIRS = 20_000
"""Pairs that are integrated at once: their tails take 10 MB."""
_MANY_DF = 100.0
_KNOWN_DF = 10_000.0
"""Degrees of freedom from which on a variance counts as known."""


def p_values_with_runs(*, mean: Array, variance: Array, df: Array, runs: Array, runs_df: Array) -> Array:
    """Two-sided p-values of the hypothesis that means are 0, elementwise for arrays of one shape.

    Args:
        mean: means.
        variance: their squared standard errors without the runs.
        df: degrees of freedom of these.
        runs: variances by the runs, above 0.
        runs_df: degrees of freedom of these.
    """
    parts = [array.ravel() for array in (mean, variance, df, runs, runs_df)]
    found = [
        _p_values(*(part[start : start + _MOST_PAIRS] for part in parts)) for start in range(0, mean.size, _MOST_PAIRS)
    ]
    return np.concatenate(found).reshape(mean.shape) if found else np.ones(mean.shape)


def _p_values(mean: Array, variance: Array, df: Array, runs: Array, runs_df: Array) -> Array:
    shape = np.minimum(runs_df, _KNOWN_DF) / 2
    # The logarithm of the variance over its estimate; what lies beyond has a probability below 1e-6, or is too small to
    # matter.
    below, above = np.minimum(9.0, 7 / np.sqrt(shape)), np.minimum(3.8, 7 / np.sqrt(shape))
    logs = -below + np.linspace(0.0, 1.0, _NODES)[:, None] * (below + above)
    ratios = np.exp(logs)
    weights = np.exp(shape * (logs - ratios + 1))
    weights /= weights.sum(axis=0)
    total = variance + ratios * runs
    # The runs are known at each point, so that Welch's degrees of freedom are those of the rest.
    dfs = np.clip(total**2 / np.maximum(variance, 1e-6 * total) ** 2 * df, 1.0, None)
    return np.asarray((weights * _tails(t=np.abs(mean) / np.sqrt(total), df=dfs)).sum(axis=0))


def _tails(*, t: Array, df: Array) -> Array:
    """Two-sided p-values of t, exact for few degrees of freedom; for many, where its series converges slowly, by
    Wallace's transformation to a normal variable (Annals of Mathematical Statistics 30(4), 1959), within 0.1 %."""
    found = np.empty(t.shape)
    are_few = df < _MANY_DF
    found[are_few] = two_sided_p_values(t=t[are_few], df=df[are_few])
    t, df = t[~are_few], df[~are_few]
    z = np.sqrt(df * np.log1p(t * t / df)) * (8 * df + 1) / (8 * df + 3)
    found[~are_few] = [math.erfc(value) for value in (z / math.sqrt(2)).tolist()]
    return found


def half_width(*, variance: float, df: float, runs: RunVariance, chance: float = 0.05) -> float:
    """Half the width of an interval around a mean, by default of 95 %; the means at its ends have a p-value of
    `chance`."""
    if runs.variance <= 0:
        return critical_value(df, chance=chance) * math.sqrt(variance)
    low, high = 0.0, 4 * math.sqrt(variance + runs.variance)
    while _p_value(high, variance=variance, df=df, runs=runs) > chance:
        high *= 2
    for _ in range(50):
        middle = (low + high) / 2
        is_inside = _p_value(middle, variance=variance, df=df, runs=runs) > chance
        low, high = (middle, high) if is_inside else (low, middle)
    return (low + high) / 2


def _p_value(mean: float, *, variance: float, df: float, runs: RunVariance) -> float:
    values = (np.array([value]) for value in (mean, variance, df, runs.variance, runs.df))
    return float(_p_values(*values)[0])


def _most_variance(repeated: RepeatedScores) -> float:
    """The variance of answers that are at one of the bounds or the other."""
    low, high = repeated.bounds
    if high is None:
        scores = [score for own in repeated.by_task.values() for score in own]
        low, high = min(scores), max(scores)
    return (high - low) ** 2 / 4


def flip_rate(repeated: RepeatedScores) -> Interval | None:
    """The probability that two runs of a task score differently, in [0, 1], with its 95 % interval over tasks.

    Of each task it is the share of pairs of runs that differ, which is unbiased for any number of runs; of scores of 0
    and 1 it is 2 c (n - c) / (n (n - 1)) for c successes in n runs.

    Returns:
        None without tasks that were asked again.
    """
    shares = [_different_pairs(scores) for scores in repeated.by_task.values()]
    return mean_of_tasks(shares) if shares else None


def pass_hat(repeated: RepeatedScores, *, k: int) -> Interval | None:
    """pass^k: the probability that k runs of a task all succeed, in [0, 1], with its 95 % interval over tasks.

    The unbiased estimate C(c, k) / C(n, k) of each task with at least k runs (tau-bench, Yao et al., arXiv 2406.12045,
    section 3).

    Returns:
        None for scores that are not all 0 or 1, and if no task has k runs.
    """
    runs = list(repeated.by_task.values())
    if any(score not in (0.0, 1.0) for scores in runs for score in scores):
        return None
    estimates = [comb(int(sum(scores)), k) / comb(len(scores), k) for scores in runs if len(scores) >= k]
    return mean_of_tasks(estimates) if estimates else None


def differ(scores: Sequence[float]) -> bool:
    """Whether runs of a task score differently."""
    return max(scores) - min(scores) > _SAME


def _different_pairs(scores: tuple[float, ...]) -> float:
    values = np.asarray(scores, dtype=np.float64)
    differ = np.abs(values[:, None] - values[None, :]) > _SAME
    return float(differ.sum() / (len(values) * (len(values) - 1)))
