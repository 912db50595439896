"""The reliability profile of a planner, from the records of its runs. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial

from evaluator.canonical_json import JsonValue
from evaluator.metrics.aggregate import TaskScore, counted
from evaluator.metrics.statistics import Interval, cluster_bootstrap
from evaluator.records import Outcome, ResultRecord
from evaluator.reliability import predictability
from evaluator.reliability.consistency import outcome_consistency, pass_hat_k, plans_alike, resource_consistency
from evaluator.reliability.ratios import ratio_of_means
from evaluator.reliability.renaming import plan_of
from evaluator.suites.base import Column, IntervalMethod

VERSION = "reliability/1"
TOLERANCE = 0.01
"""By which a graded score may be below the gold plan's on the same samples and still count as a success."""
Records = Mapping[str, ResultRecord]
"""Of one run, by task."""
Measure = Callable[[str], float | None]
"""Of a task; None where it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PerturbedRun:
    """A run on perturbed requests."""

    name: str
    kind: str
    description: str
    records: Records
    """Only of tasks whose request could be perturbed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """What a profile is computed from."""

    column: Column
    """The suite's primary one."""
    plain: Sequence[Records]
    """Runs on the requests as they are, at least one."""
    perturbed: Sequence[PerturbedRun] = ()
    gold: Records | None = None
    """Of the gold plans, for suites with graded scores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Robustness:
    """How a planner does on perturbed requests."""

    name: str
    kind: str
    description: str
    tasks: int
    left_out: int
    """Tasks without a value, because of a fault that is not the planner's."""
    ratio: Interval | None
    """Of the mean on perturbed requests to that on the same tasks' plain ones; None if the latter is 0."""
    worst: tuple[str, ...]
    """Tasks that lose most, worst first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictability:
    """What a planner's confidence is worth."""

    answers: int
    """That came with a confidence, in all plain runs."""
    calibration_error: float
    brier: float
    auroc: float | None
    selective_gain: float | None
    curve: list[tuple[float, float]]
    bins: list[predictability.Bin]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """How reliable a planner is on one suite."""

    runs: int
    tasks: int
    left_out: int
    """Tasks without a value in some run, because of a fault that is not the planner's."""
    success: str
    """When a task counts as a success, as a sentence."""
    success_rate: Interval | None
    pass_hat: Mapping[int, Interval]
    """pass^k by k."""
    outcomes: Interval | None
    """Mean outcome consistency."""
    equal_plans: Interval | None
    equal_edges: Interval | None
    resources: Mapping[str, Interval]
    """Mean consistency by resource."""
    robustness: Sequence[Robustness] = field(default=())
    predictability: Predictability | None = None
    """None if no answer came with a confidence."""

    def to_json(self) -> dict[str, JsonValue]:
        """The profile as a JSON object."""
        found: dict[str, JsonValue] = asdict(self)
        return {"version": VERSION, **found, "pass_hat": {str(k): asdict(one) for k, one in self.pass_hat.items()}}


def profile_of(runs: Runs) -> Profile:
    """The profile of a planner.

    Tasks that have no value in some plain run, because of a fault that is not the planner's, are left out.
    """
    values = [_values(column=runs.column, records=records) for records in runs.plain]
    tasks = [task for task in values[0] if all(task in one for one in values)]
    is_success = _success(runs)
    right = {task: sum(is_success(task, one[task]) for one in values) for task in tasks}
    count = len(runs.plain)
    mean = partial(_mean, tasks=tasks)
    alike = {task: plans_alike([plan_of(records[task].plan) for records in runs.plain]) for task in tasks}
    return Profile(
        runs=count,
        tasks=len(tasks),
        left_out=max(_left_out(records, values=own) for records, own in zip(runs.plain, values, strict=True)),
        success=_success_in_words(runs),
        success_rate=mean(lambda task: right[task] / count),
        pass_hat={
            k: found
            for k in range(1, count + 1)
            if (found := mean(partial(_passed, right=right, runs=count, k=k))) is not None
        },
        outcomes=mean(lambda task: outcome_consistency(successes=right[task], runs=count)) if count > 1 else None,
        equal_plans=mean(lambda task: None if (one := alike[task]) is None else one.equal),
        equal_edges=mean(lambda task: None if (one := alike[task]) is None else one.edges),
        resources=_resources(runs, tasks=tasks) if count > 1 else {},
        robustness=[_robustness(one, column=runs.column, plain=values) for one in runs.perturbed],
        predictability=_predictability(runs, values=values, is_success=is_success),
    )


def _values(*, column: Column, records: Records) -> dict[str, float]:
    results = [TaskScore.of(record) for record in records.values()]
    values = counted(column=column, results=results)
    return {one.task: value for one, value in zip(results, values, strict=True) if value is not None}


def _left_out(records: Records, *, values: Mapping[str, float]) -> int:
    return sum(record.outcome is Outcome.INFRA_FAULT and task not in values for task, record in records.items())


def _passed(task: str, *, right: Mapping[str, int], runs: int, k: int) -> float:
    return pass_hat_k(successes=right[task], runs=runs, k=k)


def _success(runs: Runs) -> Callable[[str, float], bool]:
    gold = {} if runs.gold is None else _values(column=runs.column, records=runs.gold)
    if runs.column.interval is IntervalMethod.WILSON or not gold:
        return lambda _, value: value >= 1.0
    return lambda task, value: task in gold and value >= gold[task] - TOLERANCE


def _success_in_words(runs: Runs) -> str:
    label = runs.column.label
    if runs.column.interval is IntervalMethod.WILSON or runs.gold is None:
        return f"{label} is 1."
    return f"{label} is at most {TOLERANCE} below the gold plan's on the same samples."


def _mean(measure: Measure, *, tasks: Sequence[str]) -> Interval | None:
    values = [value for task in tasks if (value := measure(task)) is not None]
    return cluster_bootstrap(values) if values else None


def _resources(runs: Runs, *, tasks: Sequence[str]) -> dict[str, Interval]:
    found = {}
    for name, used in _USED.items():
        values = {task: [used(records[task]) for records in runs.plain] for task in tasks}
        known = {task: [one for one in own if one is not None] for task, own in values.items()}
        whole = [own for own in known.values() if len(own) == len(runs.plain)]
        if whole and any(map(any, whole)):
            found[name] = cluster_bootstrap([resource_consistency(own) for own in whole])
    return found


def _steps(record: ResultRecord) -> float | None:
    plan = plan_of(record.plan)
    return None if plan is None else float(len(plan.steps))


def _tokens(record: ResultRecord) -> float | None:
    call = record.planner
    if call is None or call.completion_tokens is None:
        return None
    return float(call.completion_tokens + (call.prompt_tokens or 0))


_USED: Mapping[str, Callable[[ResultRecord], float | None]] = {
    "steps": _steps,
    "tokens": _tokens,
    "seconds": lambda record: None if record.planner is None else record.planner.seconds,
}
_WORST = 5


def _robustness(run: PerturbedRun, *, column: Column, plain: Sequence[Mapping[str, float]]) -> Robustness:
    changed = _values(column=column, records=run.records)
    tasks = [task for task in changed if all(task in one for one in plain)]
    before = {task: sum(one[task] for one in plain) / len(plain) for task in tasks}
    lost = sorted((changed[task] - before[task], task) for task in tasks)
    return Robustness(
        name=run.name, kind=run.kind, description=run.description, tasks=len(tasks),
        left_out=_left_out(run.records, values=changed),
        ratio=ratio_of_means(
            changed=[changed[task] for task in tasks], unchanged=[before[task] for task in tasks]
        ),
        worst=tuple(task for loss, task in lost[:_WORST] if loss < 0),
    )  # fmt: skip


def _predictability(
    runs: Runs, *, values: Sequence[Mapping[str, float]], is_success: Callable[[str, float], bool]
) -> Predictability | None:
    pairs = [
        (record.planner.confidence, is_success(task, own[task]))
        for records, own in zip(runs.plain, values, strict=True)
        for task, record in records.items()
        if task in own and record.planner is not None and record.planner.confidence is not None
    ]
    if not pairs:
        return None
    confidences, successes = ([*part] for part in zip(*pairs, strict=True))
    given = {"confidences": confidences, "successes": successes}
    return Predictability(
        answers=len(pairs),
        calibration_error=predictability.calibration_error(**given),
        brier=predictability.brier_score(**given),
        auroc=predictability.auroc(**given),
        selective_gain=predictability.selective_gain(**given),
        curve=predictability.risk_coverage(**given),
        bins=predictability.diagram(**given),
    )
