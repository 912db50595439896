"""From the results of tasks to the row of an evaluation."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evaluator.canonical_json import JsonValue
from evaluator.metrics.planning import INDICATORS, LOWER_IS_BETTER
from evaluator.metrics.statistics import Interval, cluster_bootstrap, ends_of, wilson
from evaluator.records import Outcome, ResultRecord
from evaluator.suites.model import Suite, SuiteKind

OVERALL = "overall"
SHARES = frozenset({*INDICATORS, "SE_best", "valid"})
"""Indicators that are 0 or 1 for a plan."""
SIZES = frozenset({"length", "depth"})
"""What is told of the plans there are, and has no worst."""


@dataclass(frozen=True, slots=True)
class TaskScore:
    """What a board needs of one task's result."""

    task: str
    metric: str
    outcome: Outcome
    score: float | None
    indicators: Mapping[str, float] = field(default_factory=dict)
    """Of suites that judge plans."""

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

    `overall` is the unweighted mean over all tasks with a score (OpenAGI, section 5), the others the mean over the
    tasks of that metric. `planner_fault` counts with its score of 0; `not_run`, `infra_fault` and `cancelled` have none
    and are left out, which is why an evaluation with an `infra_fault` must not be ranked.

    Returns:
        `{"metrics": {key: {"mean", "low", "high", "tasks"}}, "outcomes": {outcome: count}}`; a metric without any
        scored task is absent. `low` and `high` are None over fewer than `statistics.LEAST_VALUES` tasks.
    """
    return summarise_columns(kind=suite.kind, columns=[column.key for column in suite.metrics], results=results)


def summarise_columns(*, kind: SuiteKind, columns: Iterable[str], results: Iterable[TaskScore]) -> dict[str, JsonValue]:
    """`summarise` for a suite of which only the kind and the keys of its columns are known."""
    found = list(results)
    metrics: dict[str, JsonValue] = {}
    for column in columns:
        values = [value for value in counted(column=column, kind=kind, results=found) if value is not None]
        interval = _judged(column=column, values=values) if kind is SuiteKind.PLANNING else _mean(values)
        if interval is not None:
            metrics[column] = {
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


def counted(*, column: str, kind: SuiteKind, results: Sequence[TaskScore]) -> list[float | None]:
    """What each result counts in a column, in the order of the results; None where it does not count.

    A missing plan counts as the worst there is, so that leaving tasks out never pays.
    """
    if kind is SuiteKind.PLANNING:
        worst = None if column in SIZES else (1.0 if column in LOWER_IS_BETTER else 0.0)
        return [_indicator(column=column, worst=worst, result=result) for result in results]
    return [
        result.score
        if result.outcome in {Outcome.SCORED, Outcome.PLANNER_FAULT} and column in {OVERALL, result.metric}
        else None
        for result in results
    ]


def _indicator(*, column: str, worst: float | None, result: TaskScore) -> float | None:
    if result.outcome is Outcome.PLANNER_FAULT:
        return worst
    value = result.indicators.get(column) if result.outcome is Outcome.SCORED else None
    return None if value is None else float(value)


def _mean(scores: Sequence[float]) -> Interval | None:
    return cluster_bootstrap(scores) if scores else None


def _judged(*, column: str, values: Sequence[float]) -> Interval | None:
    """Wilson's interval for what is true or false of a plan, a bootstrap for what is graded."""
    if values and column in SHARES:
        return wilson(successes=round(sum(values)), total=len(values))
    return _mean(values)
