"""From the results of tasks to the row of an evaluation."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum

import numpy as np

from evaluator.canonical_json import JsonValue
from evaluator.metrics.crossed import Matrix, fixed_tasks, sampled_tasks
from evaluator.metrics.statistics import Interval, cluster_bootstrap, interval, wilson
from evaluator.records import Outcome, ResultRecord
from evaluator.suites.base import ABSTENTION, Column, IntervalMethod, Suite

OVERALL = "overall"


@dataclass(frozen=True, slots=True)
class TaskScore:
    """What a board needs of one task's result."""

    task: str
    metric: str
    outcome: Outcome
    score: float | None
    indicators: Mapping[str, float] = field(default_factory=dict)
    """Further values of the result, by name."""
    samples: tuple[float, ...] = ()
    """The score of each sample, in order; empty where a plan is judged, or was not executed."""

    @classmethod
    def of(cls, record: ResultRecord) -> "TaskScore":
        """The slim form of a record."""
        return cls(
            task=record.task,
            metric=record.metric,
            outcome=record.outcome,
            score=record.score,
            indicators=record.indicators,
            samples=scores_of_samples(record),
        )


def summarise(*, suite: Suite, results: Iterable[TaskScore], samples: int = 1) -> dict[str, JsonValue]:
    """Means with 95 % intervals for each column of the suite, and how often each outcome occurred.

    Each column says which value of which tasks counts, and what a `planner_fault` counts. `not_run`, `infra_fault` and
    `cancelled` have no value and are left out, which is why an evaluation with an `infra_fault` must not be ranked.

    Args:
        suite: whose columns are computed.
        results: of its tasks, in any order.
        samples: of each task that is executed.

    Returns:
        `{"metrics": {key: {"mean", "low", "high", "tasks"}}, "outcomes": {outcome: count}}`; a metric without any
        scored task is absent. `low` and `high` are None over fewer than `statistics.LEAST_VALUES` independent tasks or
        scenes, as the column's method of intervals says.
    """
    return summarise_columns(columns=suite.metrics, results=results, samples=samples)


def summarise_columns(
    *, columns: Iterable[Column], results: Iterable[TaskScore], samples: int = 1
) -> dict[str, JsonValue]:
    """`summarise` for a suite of which only the columns are known."""
    found = list(results)
    metrics: dict[str, JsonValue] = {}
    for column in columns:
        made = interval_of(column=column, results=found, samples=samples)
        if made is not None:
            metrics[column.key] = {"mean": made.mean, "low": made.low, "high": made.high, "tasks": made.count}
    outcomes = Counter(str(result.outcome) for result in found)
    return {"metrics": metrics, "outcomes": {outcome: outcomes[outcome] for outcome in sorted(outcomes)}}


def counted(*, column: Column, results: Sequence[TaskScore]) -> list[float | None]:
    """What each result counts in a column, in the order of the results; None where it does not count.

    Most columns count a missing plan as the worst there is, so that leaving tasks out never pays.
    """
    return [_value(column=column, result=result) for result in results]


def _value(*, column: Column, result: TaskScore) -> float | None:
    if column.metric and column.metric != result.metric:
        return None
    if result.outcome is Outcome.PLANNER_FAULT:
        return column.fault
    if result.outcome is not Outcome.SCORED:
        return None
    value = result.indicators.get(column.key) if column.indicator else result.score
    return None if value is None else float(value)


def interval_of(*, column: Column, results: Sequence[TaskScore], samples: int) -> Interval | None:
    """Mean and interval of a column; None if no task counts. `samples` is the number of each executed task."""
    found = counted(column=column, results=results)
    counting = [(value, result) for value, result in zip(found, results, strict=True) if value is not None]
    return _interval(column=column, counting=counting, samples=samples) if counting else None


def _interval(*, column: Column, counting: Sequence[tuple[float, TaskScore]], samples: int) -> Interval:
    values = [value for value, _ in counting]
    if column.interval is IntervalMethod.WILSON:
        return wilson(successes=round(sum(values)), total=len(values))
    if not column.interval.over_scenes:
        return cluster_bootstrap(values)
    table = by_sample(counting=counting, samples=samples)
    if table is None:
        return interval(mean=fsum(values) / len(values), low=0.0, high=0.0, count=len(values), units=0)
    if column.interval is IntervalMethod.FIXED_TASKS:
        return fixed_tasks(table).interval
    return sampled_tasks(table, strata=[result.metric for _, result in counting]).interval


def by_sample(*, counting: Sequence[tuple[float, TaskScore]], samples: int) -> Matrix | None:
    """Scores as (tasks, samples); None if a plan was executed on another number of samples.

    Args:
        counting: what each task counts, with its result. A task without an executed plan counts the same on every
            sample.
        samples: of each task.
    """
    rows = [result.samples if _was_executed(result) else (value,) * samples for value, result in counting]
    return np.array(rows, dtype=np.float64) if all(len(row) == samples for row in rows) else None


def _was_executed(result: TaskScore) -> bool:
    return result.outcome is Outcome.SCORED and result.metric != ABSTENTION


def scores_of_samples(record: ResultRecord) -> tuple[float, ...]:
    """The score of each sample of a record, in order; empty unless all were scored."""
    scores = [sample.score for sample in sorted(record.samples, key=lambda sample: sample.index)]
    known = tuple(score for score in scores if score is not None)
    return known if len(known) == len(scores) else ()
