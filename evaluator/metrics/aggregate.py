"""From the results of tasks to the row of an evaluation."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from evaluator.canonical_json import JsonValue
from evaluator.metrics.planning import INDICATORS, LOWER_IS_BETTER
from evaluator.metrics.statistics import Interval, cluster_bootstrap, wilson
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
        scored task is absent.
    """
    found = list(results)
    metrics: dict[str, JsonValue] = {}
    for column in suite.metrics:
        if suite.kind is SuiteKind.PLANNING:
            interval = _judged(column=column.key, indicators=_indicators(column=column.key, results=found))
        else:
            interval = _mean(_scores(column=column.key, results=found))
        if interval is not None:
            metrics[column.key] = {
                "mean": interval.mean,
                "low": interval.low,
                "high": interval.high,
                "tasks": interval.count,
            }
    outcomes = Counter(str(result.outcome) for result in found)
    return {"metrics": metrics, "outcomes": {outcome: outcomes[outcome] for outcome in sorted(outcomes)}}


def _mean(scores: Sequence[float]) -> Interval | None:
    return cluster_bootstrap(scores) if scores else None


def _judged(*, column: str, indicators: Sequence[float]) -> Interval | None:
    """Wilson's interval for what is true or false of a plan, a bootstrap for what is graded."""
    if indicators and column in SHARES:
        return wilson(successes=round(sum(indicators)), total=len(indicators))
    return _mean(indicators)


def _indicators(*, column: str, results: Sequence[TaskScore]) -> list[float]:
    """A missing plan counts as the worst there is, so that leaving tasks out never pays."""
    found = []
    for result in results:
        if result.outcome is Outcome.SCORED and column in result.indicators:
            found.append(float(result.indicators[column]))
        elif result.outcome is Outcome.PLANNER_FAULT and column not in SIZES:
            found.append(1.0 if column in LOWER_IS_BETTER else 0.0)
    return found


def _scores(*, column: str, results: Sequence[TaskScore]) -> list[float]:
    return [
        result.score
        for result in results
        if result.outcome in {Outcome.SCORED, Outcome.PLANNER_FAULT}
        and result.score is not None
        and column in {OVERALL, result.metric}
    ]
