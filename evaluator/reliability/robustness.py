"""Robustness: the scores of a planner on perturbed requests relative to plain ones. Pure and seeded functions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaluator.reliability.perturbations import Kind, Perturbation
from evaluator.scoring.metrics.statistics import LEAST_VALUES, RESAMPLES, SEED, Interval, interval, unseen_share


def ratio_of_means(*, changed: Sequence[float], unchanged: Sequence[float], most: float = 1.0) -> Interval | None:
    """The ratio of the means of changed and unchanged values, with a 95 % percentile bootstrap interval.

    Tasks are resampled with both values (Efron and Tibshirani, An Introduction to the Bootstrap, section 10.3), without
    resamples that have no positive unchanged value. If all tasks have the same ratio, `statistics.unseen_share`
    determines the width: that share of unseen tasks may lose everything or reach the maximum.

    Args:
        changed: a nonnegative value for each task.
        unchanged: values of the same tasks, in the same order.
        most: maximum value of a task.

    Returns:
        None if there are no tasks, or if the mean of the unchanged values is 0.
    """
    over, under = np.asarray(changed, dtype=np.float64), np.asarray(unchanged, dtype=np.float64)
    if not len(under) or under.sum() == 0:
        return None
    ratio = float(over.sum() / under.sum())
    if np.allclose(over, ratio * under, rtol=0, atol=1e-12):
        share = unseen_share(len(under))
        low = ratio * (1 - share)
        return interval(mean=ratio, low=low, high=low + share * most / float(under.mean()), count=len(under))
    drawn = np.random.default_rng(SEED).integers(0, len(under), size=(RESAMPLES, len(under)))
    sums = under[drawn].sum(axis=1)
    ratios = over[drawn].sum(axis=1)[sums > 0] / sums[sums > 0]
    low, high = np.quantile(ratios, [0.025, 0.975])
    enough = len(under) >= LEAST_VALUES
    return interval(mean=ratio, low=float(low), high=float(high), count=len(under), enough=enough)


Values = Mapping[str, float]
"""Nonnegative values of one run, by task."""
_WORST = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class PerturbedValues:
    """A run on perturbed requests, with the mean of the plain runs on the same tasks."""

    perturbation: Perturbation
    changed: Values
    plain: Values
    left_out: int
    """Tasks without a value because of an infrastructure fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Robustness:
    """Robustness of a planner to one perturbation."""

    name: str
    label: str
    kind: str
    description: str
    version: int
    """Version of the perturbation."""
    tasks: int
    left_out: int
    """Tasks without a value because of an infrastructure fault."""
    ratio: Interval | None
    """Ratio of the means on perturbed and plain requests of the same tasks; None if the latter is 0."""
    worst: tuple[str, ...]
    """Tasks with the greatest loss, worst first."""


def robustness(run: PerturbedValues) -> Robustness:
    """The robustness of a planner in one perturbed run."""
    perturbation, tasks = run.perturbation, list(run.changed)
    lost = sorted((run.changed[task] - run.plain[task], task) for task in tasks)
    return Robustness(
        name=perturbation.name, label=perturbation.label, kind=str(perturbation.kind),
        description=perturbation.definition, version=perturbation.version, tasks=len(tasks), left_out=run.left_out,
        ratio=ratio_of_means(
            changed=[run.changed[task] for task in tasks], unchanged=[run.plain[task] for task in tasks]
        ),
        worst=tuple(task for loss, task in lost[:_WORST] if loss < 0),
    )  # fmt: skip


def pooled(runs: Iterable[PerturbedValues]) -> Interval | None:
    """The ratio of the means over all perturbed answers and the corresponding plain ones.

    Tasks are resampled with all their answers, so a task is weighted by the number of its perturbations.
    """
    sums: dict[str, tuple[float, float]] = {}
    all_runs = list(runs)
    for run in all_runs:
        for task, value in run.changed.items():
            changed, unchanged = sums.get(task, (0.0, 0.0))
            sums[task] = changed + value, unchanged + run.plain[task]
    return ratio_of_means(
        changed=[changed for changed, _ in sums.values()],
        unchanged=[unchanged for _, unchanged in sums.values()],
        most=float(len(all_runs)),
    )


def pooled_by_kind(runs: Sequence[PerturbedValues]) -> dict[str, Interval]:
    """`pooled` for each kind of perturbation that has a ratio."""
    ratios = {str(kind): pooled(run for run in runs if run.perturbation.kind is kind) for kind in Kind}
    return {kind: ratio for kind, ratio in ratios.items() if ratio is not None}
