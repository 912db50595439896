"""The reliability profile of a planner, from the records of its runs. Pure functions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

from evaluator.core.canonical_json import JsonValue
from evaluator.core.records import Outcome, ResultRecord
from evaluator.core.suites.base import Column, IntervalMethod
from evaluator.reliability import predictability
from evaluator.reliability.consistency import outcome_consistency, pass_hat_k, plans_alike, resource_consistency
from evaluator.reliability.perturbations import Perturbation, Unavailable, perturbation_named
from evaluator.reliability.renaming import plan_of
from evaluator.reliability.robustness import PerturbedValues, Robustness, Values, pooled, pooled_by_kind, robustness
from evaluator.reliability.shared_samples import Records, most_samples, on_shared_samples
from evaluator.scoring.metrics.aggregate import TaskScore, counted
from evaluator.scoring.metrics.statistics import UNIT, Bounds, Interval, clustered_mean, mean_of_tasks

VERSION = "reliability/5"
TOLERANCE = 0.01
"""A graded score this far below the gold plan's on the same samples still counts as a success."""
_WORST = 5
IsSuccess = Callable[[str, float], bool]
"""Predicate of a task and its value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictability:
    """Measures of a planner's confidence."""

    answers: int
    """Number of answers with a confidence, in all plain runs."""
    calibration_error: Interval
    calibration_floor: float
    """The mean calibration error by chance of a perfectly calibrated planner with these confidences."""
    brier: Interval
    """Mean squared distance of confidence and success, with an interval over tasks; 0 is best."""
    auroc: Interval | None
    selective_gain: Interval | None
    curve: list[tuple[float, float]]
    bins: list[predictability.Bin]
    overconfident: tuple[str, ...]
    """Tasks with wrong answers, highest confidence first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Reliability of a planner on one suite."""

    runs: int
    tasks: int
    samples: int | None
    """Data points common to all runs, which the values refer to. None if plans are judged."""
    left_out: int
    """Tasks without a value in some run because of an infrastructure fault; their other runs count."""
    once: int
    """Tasks with a value in fewer than two runs, which consistency leaves out."""
    never_succeeds: bool
    """Whether no run succeeds on any task, so that outcomes are consistent failures."""
    success: str
    """The criterion of success, as a sentence."""
    success_rate: Interval | None
    success_counts: tuple[int, ...]
    """Number of tasks with a value in every run, by the number of successful runs from 0 to `runs`."""
    pass_hat: Mapping[int, Interval]
    """pass^k by k, over tasks with a value in at least k runs."""
    outcomes: Interval | None
    """Mean outcome consistency, over tasks with a value in at least two runs."""
    equal_plans: Interval | None
    equal_edges: Interval | None
    resources: Mapping[str, Interval]
    """Mean consistency by resource."""
    unsteady: tuple[str, ...]
    """Tasks with the lowest consistency of outcomes, then of plans, worst first."""
    robustness: Sequence[Robustness]
    robustness_overall: Interval | None
    """Ratio over all perturbed answers; None if there are none."""
    robustness_by_kind: Mapping[str, Interval]
    predictability: Predictability | None
    """None if no answer has a confidence."""
    unavailable: Sequence[Unavailable] = ()
    """Perturbations that do not apply to this suite or planner."""

    def to_json(self) -> dict[str, JsonValue]:
        fields: dict[str, JsonValue] = asdict(self)
        return {
            "version": VERSION,
            **fields,
            "pass_hat": {str(k): asdict(interval) for k, interval in self.pass_hat.items()},
            "dimensions": {
                name: None if interval is None else {**asdict(interval), **self._floor(name)}
                for name, interval in self.dimensions.items()
            },
        }

    def _floor(self, name: str) -> dict[str, JsonValue]:
        floor = self.floors.get(name)
        return {} if floor is None else {"floor": floor}

    @property
    def floors(self) -> dict[str, float]:
        """What a planner has that shows nothing of a dimension, by dimension, given how often this one succeeds.

        Consistency of outcomes: that of a planner which succeeds on every task with the same chance p, (2p - 1)^2.
        Predictability: that of one which always states its success rate p, 1 - p (1 - p).
        """
        if self.success_rate is None:
            return {}
        spread = self.success_rate.mean * (1 - self.success_rate.mean)
        return {"consistency": 1 - 4 * spread, "predictability": 1 - spread}

    @property
    def dimensions(self) -> dict[str, Interval | None]:
        """Summary: success, consistency of outcomes, robustness, and predictability as 1 - Brier score.

        Higher is better; robustness may exceed 1, and the estimate of consistency may be negative. None: not measured.
        """
        predictability = None
        if self.predictability is not None:
            brier = self.predictability.brier
            low, high = (None if end is None else 1 - end for end in (brier.high, brier.low))
            predictability = Interval(mean=1 - brier.mean, low=low, high=high, count=brier.count)
        return {
            "success": self.success_rate,
            "consistency": self.outcomes,
            "robustness": self.robustness_overall,
            "predictability": predictability,
        }


def profile_of(
    *,
    column: Column,
    plain_runs: Sequence[Records],
    perturbed: Mapping[str, Records] = MappingProxyType({}),
    gold: Records | None = None,
    unavailable: Sequence[Unavailable] = (),
) -> Profile:
    """The profile of a planner, computed deterministically from records.

    Leaves out runs of a task without a value because of an infrastructure fault, and `not_run` tasks of perturbed runs.
    Runs are compared on their common data points (`shared_samples`).

    Args:
        column: the suite's primary column.
        plain_runs: records of each unperturbed run, by task; at least one run.
        perturbed: records of each perturbed run, by the name of its perturbation.
        gold: records of the gold plans on at least these samples, for suites with graded scores; None: success is a
            score of 1.
        unavailable: perturbations that do not apply to the suite or planner.

    Raises:
        LookupError: a perturbation is unknown.
        ValueError: there is no plain run.
    """
    if not plain_runs:
        raise ValueError("a profile needs a run on the requests as they are")
    shared = on_shared_samples([*plain_runs, *perturbed.values(), gold or {}])
    plain, changed, best = shared[: len(plain_runs)], shared[len(plain_runs) : -1], shared[-1] or None
    values = [_values(column=column, records=records) for records in plain]
    is_binary = column.interval is IntervalMethod.WILSON
    gold_values = {} if best is None else _values(column=column, records=best)

    def is_success(task: str, value: float) -> bool:
        if is_binary or not gold_values:
            return value >= 1.0
        return task in gold_values and value >= gold_values[task] - TOLERANCE

    success = f"{column.label} is 1."
    if not is_binary and best is not None:
        success = f"{column.label} is at most {TOLERANCE} below the gold plan's on the same samples."
    runs = [
        _perturbed_values(perturbation_named(name), column=column, records=records, plain=values)
        for name, records in zip(perturbed, changed, strict=True)
    ]
    return Profile(
        runs=len(plain),
        samples=most_samples(shared),
        left_out=max(_left_out(records, values=own) for records, own in zip(plain, values, strict=True)),
        success=success,
        **_consistency(plain, values=values, is_success=is_success),
        robustness=[robustness(run) for run in runs],
        robustness_overall=pooled(runs),
        robustness_by_kind=pooled_by_kind(runs),
        predictability=_predictability(plain, values=values, is_success=is_success),
        unavailable=unavailable,
    )


def _consistency(plain: Sequence[Records], *, values: Sequence[Values], is_success: IsSuccess) -> dict[str, Any]:
    """The fields of a profile about consistency."""
    runs = {
        task: [(records[task], run[task]) for records, run in zip(plain, values, strict=True) if task in run]
        for task in dict.fromkeys(task for run in values for task in run)
    }
    tasks, count = list(runs), len(plain)
    counts = {task: len(own) for task, own in runs.items()}
    right = {task: sum(is_success(task, value) for _, value in own) for task, own in runs.items()}
    alike = {task: plans_alike([plan_of(record.plan) for record, _ in own]) for task, own in runs.items()}
    equal = {task: 1.0 if plans is None else plans.equal for task, plans in alike.items()}
    again = [task for task in tasks if counts[task] > 1]
    outcomes = {task: outcome_consistency(successes=right[task], runs=counts[task]) for task in again}
    steady = {task: (outcomes[task], equal[task]) for task in again}
    similar = [plans for task in again if (plans := alike[task]) is not None]
    pass_hat = {
        k: _mean(pass_hat_k(successes=right[task], runs=counts[task], k=k) for task in tasks if counts[task] >= k)
        for k in range(1, count + 1)
    }
    return {
        "tasks": len(tasks),
        "once": len(tasks) - len(again) if count > 1 else 0,
        "never_succeeds": bool(tasks) and not any(right.values()),
        "success_rate": _mean(right[task] / counts[task] for task in tasks),
        "success_counts": tuple(
            sum(right[task] == number for task in tasks if counts[task] == count) for number in range(count + 1)
        ),
        "pass_hat": {k: interval for k, interval in pass_hat.items() if interval is not None},
        "outcomes": _mean(outcomes.values(), bounds=(-1 / (min(map(counts.__getitem__, again), default=2) - 1), 1.0)),
        "equal_plans": _mean(plans.equal for plans in similar),
        "equal_edges": _mean(plans.edges for plans in similar),
        "resources": _resources({task: [record for record, _ in runs[task]] for task in again}),
        "unsteady": tuple(task for task in sorted(again, key=steady.__getitem__) if steady[task] < (1.0, 1.0))[:_WORST],
    }


def _values(*, column: Column, records: Records) -> Values:
    results = [TaskScore.of(record) for record in records.values()]
    values = counted(column=column, results=results)
    return {result.task: value for result, value in zip(results, values, strict=True) if value is not None}


def _left_out(records: Records, *, values: Mapping[str, float]) -> int:
    return sum(record.outcome is Outcome.INFRA_FAULT and task not in values for task, record in records.items())


def _mean(values: Iterable[float], *, bounds: Bounds = UNIT) -> Interval | None:
    by_task = list(values)
    return mean_of_tasks(by_task, bounds=bounds) if by_task else None


def _resources(runs: Mapping[str, Sequence[ResultRecord]]) -> dict[str, Interval]:
    used = [[_resource_use(record) for record in records] for records in runs.values()]
    intervals = {}
    for name in ("steps", "tokens", "seconds"):
        known = [[value for use in task if (value := use[name]) is not None] for task in used]
        repeated = [values for values in known if len(values) > 1]
        if any(map(any, repeated)):
            intervals[name] = mean_of_tasks([resource_consistency(values) for values in repeated])
    return intervals


def _resource_use(record: ResultRecord) -> dict[str, float | None]:
    plan, call = plan_of(record.plan), record.planner
    counts_tokens = call is not None and call.completion_tokens is not None
    return {
        "steps": None if plan is None else float(len(plan.steps)),
        "tokens": float((call.completion_tokens or 0) + (call.prompt_tokens or 0)) if call and counts_tokens else None,
        "seconds": None if call is None else call.seconds,
    }


def _perturbed_values(
    perturbation: Perturbation, *, column: Column, records: Records, plain: Sequence[Values]
) -> PerturbedValues:
    changed = _values(column=column, records=records)
    unchanged = {task: [run[task] for run in plain if task in run] for task in changed}
    tasks = [task for task, values in unchanged.items() if values]
    return PerturbedValues(
        perturbation=perturbation,
        changed={task: changed[task] for task in tasks},
        plain={task: sum(unchanged[task]) / len(unchanged[task]) for task in tasks},
        left_out=_left_out(records, values=changed),
    )


def _predictability(
    plain: Sequence[Records], *, values: Sequence[Values], is_success: IsSuccess
) -> Predictability | None:
    answers: dict[str, list[tuple[float, bool]]] = {}
    for records, own in zip(plain, values, strict=True):
        for task, record in records.items():
            if task in own and record.planner is not None and record.planner.confidence is not None:
                answers.setdefault(task, []).append((record.planner.confidence, is_success(task, own[task])))
    if not answers:
        return None
    pairs = [pair for own in answers.values() for pair in own]
    confidences, successes = ([*part] for part in zip(*pairs, strict=True))
    by_task = predictability.Answers.of(list(answers.values()))
    wrong = sorted((-confidence, task) for task, own in answers.items() for confidence, is_right in own if not is_right)
    return Predictability(
        answers=len(pairs),
        calibration_error=predictability.calibration_interval(by_task),
        calibration_floor=predictability.calibration_floor(by_task),
        brier=clustered_mean(
            [[(confidence - is_right) ** 2 for confidence, is_right in own] for own in answers.values()]
        ),
        auroc=predictability.auroc_interval(by_task),
        selective_gain=predictability.selective_gain_interval(by_task),
        curve=predictability.risk_coverage(confidences=confidences, successes=successes),
        bins=predictability.diagram(confidences=confidences, successes=successes),
        overconfident=tuple(dict.fromkeys(task for _, task in wrong))[:_WORST],
    )
