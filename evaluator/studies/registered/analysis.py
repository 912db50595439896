"""The stated analysis of a study: from scores to figures. Pure, and the same for every study.

Its code is registered with each study: `ANALYSIS_CODE`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from pydantic import BaseModel, ConfigDict

from evaluator.core.suites.base import IntervalMethod
from evaluator.scoring.metrics.crossed import sampled_tasks
from evaluator.scoring.metrics.paired import holm, paired_test
from evaluator.scoring.metrics.statistics import DIFFERENCES, UNIT, Bounds, Interval, clustered_mean
from evaluator.studies.registered.plan import ALL, Analysis, Contrast, Plan, Table

ANALYSIS_CODE = (
    "evaluator/scoring/metrics/crossed.py",
    "evaluator/scoring/metrics/paired.py",
    "evaluator/scoring/metrics/statistics.py",
    "evaluator/scoring/metrics/student.py",
    "evaluator/studies/registered/analysis.py",
)
Scores = Mapping[tuple[int, str], Mapping[str, float]]
"""Score of each task, by seed and arm."""
Groups = Mapping[str, str]
"""The group of each task."""


class _Figures(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Value(_Figures):
    """A mean with its 95 % interval."""

    mean: float
    low: float | None
    high: float | None
    """None, like `low`, for too few tasks or seeds."""
    tasks: int

    @classmethod
    def of(cls, interval: Interval) -> "Value":
        """From an interval."""
        return cls(mean=interval.mean, low=interval.low, high=interval.high, tasks=interval.count)


class ArmRow(_Figures):
    """An arm in a table."""

    arm: str
    values: dict[str, Value | None]
    """By column; None if the arm was not measured on the whole of the group."""
    by_seed: dict[int, float]
    """Mean over all its tasks."""


class ArmTable(_Figures):
    """A table of arms."""

    key: str
    rows: list[ArmRow]


class ContrastFigures(_Figures):
    """A paired difference, treatment less control, over the seeds and tasks that both have."""

    key: str
    difference: Value
    p: float | None
    """Two-sided."""
    adjusted_p: float | None
    """By the correction over the primary contrasts; None for secondary ones."""
    by_seed: dict[int, float]
    treatment_only: Value
    """Share of tasks that only the treatment solves: a score above 0 where the control has 0."""
    control_only: Value


class Results(_Figures):
    """All figures of a study."""

    tables: list[ArmTable]
    contrasts: list[ContrastFigures]
    missing: list[tuple[int, str]]
    """Seed and arm of runs of the plan that are not there."""


def analyse(*, plan: Plan, groups: Groups, scores: Scores) -> Results:
    """The figures of a study.

    Args:
        plan: the plan, with arms, seeds and analysis.
        groups: the group of every task.
        scores: of the runs that are there.

    Raises:
        ValueError: a contrast has no run of both arms, or their runs have different tasks.
    """
    planned = {run: scores[run] for run in plan.runs if run in scores}
    contrasts = [
        figures
        for one in plan.analysis.contrasts
        if (figures := _contrast(one, plan=plan, groups=groups, scores=planned)) is not None
    ]
    return Results(
        tables=[
            ArmTable(key=table.key, rows=_rows(table, plan=plan, groups=groups, scores=planned))
            for table in plan.tables
            if table.kind == "arms"
        ],
        contrasts=_adjusted(contrasts, analysis=plan.analysis),
        missing=[run for run in plan.runs if run not in scores],
    )


def _rows(table: Table, *, plan: Plan, groups: Groups, scores: Scores) -> list[ArmRow]:
    rows = []
    for arm in table.arms or [arm.key for arm in plan.arms]:
        seeds = [seed for seed in table.seeds or plan.seeds if (seed, arm) in scores]
        if seeds:
            runs = [scores[seed, arm] for seed in seeds]
            rows.append(
                ArmRow(
                    arm=arm,
                    values={
                        column: _mean(column, runs=runs, groups=groups, method=plan.analysis.method)
                        for column in table.columns
                    },
                    by_seed={seed: _average(run.values()) for seed, run in zip(seeds, runs, strict=True)},
                )
            )
    return rows


def _mean(column: str, *, runs: Sequence[Mapping[str, float]], groups: Groups, method: str) -> Value | None:
    wanted = [task for task in sorted(groups) if column in {ALL, groups[task]}]
    if not wanted or any(task not in run for run in runs for task in wanted):
        return None
    return Value.of(_interval(wanted, runs=runs, groups=groups, method=method, bounds=UNIT))


def _interval(
    tasks: Sequence[str], *, runs: Sequence[Mapping[str, float]], groups: Groups, method: str, bounds: Bounds
) -> Interval:
    if method == "tasks":
        return clustered_mean([[run[task] for run in runs] for task in tasks], bounds=bounds)
    values = np.array([[run[task] for run in runs] for task in tasks])
    return sampled_tasks(values, strata=[groups[task] for task in tasks], bounds=bounds).interval


def _contrast(contrast: Contrast, *, plan: Plan, groups: Groups, scores: Scores) -> ContrastFigures | None:
    pairs = {
        seed: (scores[seed, contrast.treatment], scores[seed, contrast.control])
        for seed in contrast.seeds or plan.seeds
        if (seed, contrast.treatment) in scores and (seed, contrast.control) in scores
    }
    if not pairs:
        return None
    common = [sorted(set(first) & set(second)) for first, second in pairs.values()]
    if any(tasks != common[0] for tasks in common) or not common[0]:
        raise ValueError(f"the seeds of {contrast.key} were not measured on the same tasks")
    tasks = common[0]

    def over(measure: Callable[[float, float], float], bounds: Bounds) -> Interval:
        runs = [{task: measure(first[task], second[task]) for task in tasks} for first, second in pairs.values()]
        return _interval(tasks, runs=runs, groups=groups, method=plan.analysis.method, bounds=bounds)

    matrix = np.array([[first[task] - second[task] for first, second in pairs.values()] for task in tasks])
    return ContrastFigures(
        key=contrast.key,
        difference=Value.of(over(lambda first, second: first - second, DIFFERENCES)),
        p=_p_value(matrix, method=plan.analysis.method, strata=[groups[task] for task in tasks]),
        adjusted_p=None,
        by_seed={seed: float(mean) for seed, mean in zip(pairs, matrix.mean(axis=0), strict=True)},
        treatment_only=Value.of(over(lambda first, second: float(first > 0 and not second > 0), UNIT)),
        control_only=Value.of(over(lambda first, second: float(second > 0 and not first > 0), UNIT)),
    )


def _p_value(matrix: np.ndarray, *, method: str, strata: Sequence[str]) -> float | None:
    if method == "tasks-and-seeds":
        return sampled_tasks(matrix, strata=strata, bounds=DIFFERENCES).p_value
    # A task's seeds are one cluster, so that its mean is the unit.
    means = matrix.mean(axis=1, keepdims=True)
    return paired_test(means, method=IntervalMethod.BOOTSTRAP, strata=strata).p_value


def _adjusted(contrasts: Sequence[ContrastFigures], *, analysis: Analysis) -> list[ContrastFigures]:
    primary = {one.key for one in analysis.contrasts if one.primary}
    tested = [one for one in contrasts if one.key in primary and one.p is not None]
    p_values = [one.p for one in tested if one.p is not None]
    found = dict(zip((one.key for one in tested), holm(p_values), strict=True)) if analysis.correction == "holm" else {}
    plain = {one.key: one.p for one in tested}
    return [
        one.model_copy(update={"adjusted_p": found.get(one.key, plain.get(one.key))}) if one.key in primary else one
        for one in contrasts
    ]


def _average(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found)


def most_different(first: Results, second: Results) -> float:
    """The largest difference of two figures in the same places; infinite if they have other rows or missing values."""
    return _distance(first.model_dump(mode="json"), second.model_dump(mode="json"))


def _distance(first: object, second: object) -> float:
    if isinstance(first, dict) and isinstance(second, dict) and first.keys() == second.keys():
        return max((_distance(first[name], second[name]) for name in first), default=0.0)
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        return max((_distance(*pair) for pair in zip(first, second, strict=True)), default=0.0)
    numbers = isinstance(first, int | float) and isinstance(second, int | float)
    if numbers and not isinstance(first, bool) and not isinstance(second, bool):
        return abs(float(first) - float(second))  # type: ignore[arg-type]
    return 0.0 if first == second else float("inf")
