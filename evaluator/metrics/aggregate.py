"""From the results of tasks to the row of an evaluation."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evaluator.canonical_json import JsonValue
from evaluator.metrics.statistics import Interval, cluster_bootstrap, ends_of, wilson
from evaluator.records import Outcome, ResultRecord
from evaluator.suites.base import Column, IntervalMethod, Suite

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

    @classmethod
    def of(cls, record: ResultRecord) -> "TaskScore":
        """The slim form of a record."""
        return cls(
            task=record.task,
            metric=record.metric,
            outcome=record.outcome,
            score=record.score,
            indicators=record.indicators,
        )


def summarise(*, suite: Suite, results: Iterable[TaskScore]) -> dict[str, JsonValue]:
    """Means with 95 % intervals for each column of the suite, and how often each outcome occurred.

    Each column says which value of which tasks counts, and what a `planner_fault` counts. `not_run`, `infra_fault` and
    `cancelled` have no value and are left out, which is why an evaluation with an `infra_fault` must not be ranked.

    Returns:
        `{"metrics": {key: {"mean", "low", "high", "tasks"}}, "outcomes": {outcome: count}}`; a metric without any
        scored task is absent. `low` and `high` are None over fewer than `statistics.LEAST_VALUES` tasks.
    """
    return summarise_columns(columns=suite.metrics, results=results)


def summarise_columns(*, columns: Iterable[Column], results: Iterable[TaskScore]) -> dict[str, JsonValue]:
    """`summarise` for a suite of which only the columns are known."""
    found = list(results)
    metrics: dict[str, JsonValue] = {}
    for column in columns:
        values = [value for value in counted(column=column, results=found) if value is not None]
        if values:
            interval = _interval(column=column, values=values)
            metrics[column.key] = {
                "mean": interval.mean,
                "low": interval.low,
                "high": interval.high,
                "tasks": interval.count,
            }
    outcomes = Counter(str(result.outcome) for result in found)
    return {"metrics": metrics, "outcomes": {outcome: outcomes[outcome] for outcome in sorted(outcomes)}}


def with_shown_interval(value: Mapping[str, Any]) -> dict[str, Any]:
    """A metric of a summary or snapshot, without an interval that an earlier version computed over too few tasks."""
    shown = dict(value)
    if ends_of(low=value.get("low"), high=value.get("high"), count=value.get("tasks")) is None:
        shown |= {name: None for name in ("low", "high") if name in value}
    return shown


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


def _interval(*, column: Column, values: Sequence[float]) -> Interval:
    if column.interval is IntervalMethod.WILSON:
        return wilson(successes=round(sum(values)), total=len(values))
    return cluster_bootstrap(values)
