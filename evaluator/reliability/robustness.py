"""Robustness: the scores of a planner on perturbed requests relative to those on the plain ones. Pure and seeded."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaluator.reliability.perturbations import Kind, Perturbation
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
        low = ratio * (1 - share)
        return interval(mean=ratio, low=low, high=low + share * most / float(under.mean()), count=len(under))
    drawn = np.random.default_rng(SEED).integers(0, len(under), size=(RESAMPLES, len(under)))
    sums = under[drawn].sum(axis=1)
    ratios = over[drawn].sum(axis=1)[sums > 0] / sums[sums > 0]
    low, high = np.quantile(ratios, [0.025, 0.975])
    return interval(mean=ratio, low=float(low), high=float(high), count=len(under))


Values = Mapping[str, float]
"""Of one run, by task, not negative."""
_WORST = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class PerturbedValues:
    """A run on perturbed requests, with the mean of the plain runs on the same tasks."""

    perturbation: Perturbation
    changed: Values
    plain: Values
    left_out: int
    """Tasks without a value, because of a fault that is not the planner's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Robustness:
    """How a planner does under one perturbation."""

    name: str
    label: str
    kind: str
    description: str
    version: int
    """Of the perturbation."""
    tasks: int
    left_out: int
    """Tasks without a value, because of a fault that is not the planner's."""
    ratio: Interval | None
    """Of the mean on perturbed requests to that on the same tasks' plain ones; None if the latter is 0."""
    worst: tuple[str, ...]
    """Tasks that lose most, worst first."""


def robustness(run: PerturbedValues) -> Robustness:
    """How a planner does in one perturbed run."""
    about, tasks = run.perturbation, list(run.changed)
    lost = sorted((run.changed[task] - run.plain[task], task) for task in tasks)
    return Robustness(
        name=about.name, label=about.label, kind=str(about.kind), description=about.definition,
        version=about.version, tasks=len(tasks), left_out=run.left_out,
        ratio=ratio_of_means(
            changed=[run.changed[task] for task in tasks], unchanged=[run.plain[task] for task in tasks]
        ),
        worst=tuple(task for loss, task in lost[:_WORST] if loss < 0),
    )  # fmt: skip


def pooled(runs: Iterable[PerturbedValues]) -> Interval | None:
    """The ratio of the means over all perturbed answers together, each beside the plain one of its task.

    Tasks are resampled with all of their answers, so a task counts by the number of perturbations that apply to it.
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
