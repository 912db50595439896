"""How much a score depends on the run: a planner that is asked again may answer otherwise. Pure.

A board compares planners by one run each. On requests that are a sample, the spread between requests contains that of
the runs, since each request was answered in a run of its own. On a fixed list it does not: there the component of the
runs is estimated from tasks that were asked again, a random tenth by default, and added to that of the scenes.

The variance of a mean over T tasks of one run each is the mean variance within a task, divided by T. The mean variance
is estimated from the tasks that were asked again. Few of them may miss the few tasks on which a planner wavers: in
simulations with 18 tasks of 185, three runs each, intervals from their plain mean covered in 40 % of the cases. One
task more is therefore counted as if its answers were as different as they can be, as Agresti and Coull (The American
Statistician 52(2), 1998) and Bonett and Price (2012) do for shares.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import comb

import numpy as np

from evaluator.scoring.metrics.statistics import UNIT, Bounds, Interval, cluster_bootstrap

RUNS = 3
"""Runs of a task that is asked again, the first one included, unless the planner's owner wants more."""
SHARE = 10
"""One task in this many is asked again."""
_SAME = 1e-9
"""Tolerance for scores that were added in another order."""


@dataclass(frozen=True, slots=True)
class RepeatedScores:
    """What is known about the runs of one row: the scores of tasks that were asked more than once."""

    by_task: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """The scores of each run of a task, the first one included, at least two. The tasks are a random sample of all."""
    is_declared: bool = False
    """Whether the planner is declared to answer equal requests alike, or is known to."""

    def __post_init__(self) -> None:
        if any(len(scores) < 2 for scores in self.by_task.values()):
            raise ValueError("a task that was asked again has the scores of at least two runs")

    @property
    def is_contradicted(self) -> bool:
        """Whether tasks that were asked again scored otherwise, although the planner is declared to answer alike."""
        return self.is_declared and self._differ

    @property
    def is_deterministic(self) -> bool:
        """Whether runs add no variance: it is declared, and no further run says otherwise."""
        return self.is_declared and not self._differ

    @property
    def is_single(self) -> bool:
        """Whether nothing is known about further runs: one run of a planner that may answer otherwise."""
        return not self.by_task and not self.is_declared

    @property
    def _differ(self) -> bool:
        return any(max(scores) - min(scores) > _SAME for scores in self.by_task.values())


@dataclass(frozen=True, slots=True)
class RunVariance:
    """An estimated variance of a mean by the runs alone."""

    variance: float
    """In the squared unit of the scores."""
    df: float
    """Degrees of freedom of the estimate, at least 1; infinite if the variance is known."""


NO_VARIANCE = RunVariance(0.0, math.inf)
"""Of a planner that answers equal requests alike."""


def run_variance(repeated: RepeatedScores, *, tasks: int, bounds: Bounds = UNIT, shown: int = 1) -> RunVariance | None:
    """The variance of a row's mean if the planner were asked again for the same requests.

    Degrees of freedom are those of a scaled chi-squared variable with the estimated mean and variance (Satterthwaite,
    Biometrics Bulletin 2(6), 1946), where the variance is that between the tasks asked again: where most of them are
    steady and a few are not, there are hardly any.

    Args:
        repeated: of the row.
        tasks: number of tasks of the mean.
        bounds: bounds of a score. Without an upper bound, the largest range of a task stands for it.
        shown: number of runs that the value of a task is the mean of.

    Returns:
        None for a single run of a planner that may answer otherwise.
    """
    if repeated.is_deterministic:
        return NO_VARIANCE
    if not repeated.by_task:
        return None
    within = [float(np.var(scores, ddof=1)) for scores in repeated.by_task.values()]
    values = np.array([*within, _most_variance(repeated, bounds=bounds)])
    mean = float(values.mean())
    if mean <= 0:
        return NO_VARIANCE
    spread = float(values.var(ddof=1)) / len(values)
    df = math.inf if spread <= 0 else max(2 * mean**2 / spread, 1.0)
    return RunVariance(mean / tasks / shown, df)


def added(parts: Iterable[RunVariance]) -> RunVariance:
    """The sum of independent variances, with Satterthwaite's degrees of freedom."""
    known = [part for part in parts if part.variance > 0]
    total = math.fsum(part.variance for part in known)
    spread = math.fsum(part.variance**2 / part.df for part in known)
    return RunVariance(total, total**2 / spread if spread > 0 else math.inf)


def _most_variance(repeated: RepeatedScores, *, bounds: Bounds) -> float:
    """The variance of answers that are at one of the bounds or the other."""
    low, high = bounds
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
    return cluster_bootstrap(shares) if shares else None


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
    return cluster_bootstrap(estimates) if estimates else None


def _different_pairs(scores: tuple[float, ...]) -> float:
    values = np.asarray(scores, dtype=np.float64)
    differ = np.abs(values[:, None] - values[None, :]) > _SAME
    return float(differ.sum() / (len(values) * (len(values) - 1)))
