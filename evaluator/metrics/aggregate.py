"""From the results of tasks to the row of an evaluation."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evaluator.canonical_json import JsonValue
from evaluator.metrics.statistics import cluster_bootstrap
from evaluator.records import Outcome, ResultRecord
from evaluator.suites.model import Suite

OVERALL = "overall"


@dataclass(frozen=True, slots=True)
class TaskScore:
    """What a board needs of one task's result."""

    task: str
    metric: str
    outcome: Outcome
    score: float | None

    @classmethod
    def of(cls, record: ResultRecord) -> "TaskScore":
        """The slim form of a record."""
        return cls(task=record.task, metric=record.metric, outcome=record.outcome, score=record.score)


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
        scores = _scores(column=column.key, results=found)
        if scores:
            interval = cluster_bootstrap(scores)
            metrics[column.key] = {
                "mean": interval.mean,
                "low": interval.low,
                "high": interval.high,
                "tasks": interval.count,
            }
    outcomes = Counter(str(result.outcome) for result in found)
    return {"metrics": metrics, "outcomes": {outcome: outcomes[outcome] for outcome in sorted(outcomes)}}


def _scores(*, column: str, results: Sequence[TaskScore]) -> list[float]:
    return [
        result.score
        for result in results
        if result.outcome in {Outcome.SCORED, Outcome.PLANNER_FAULT}
        and result.score is not None
        and column in {OVERALL, result.metric}
    ]
