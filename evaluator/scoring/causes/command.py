"""The causes of tasks below the gold score in the output of `planarena evaluate`."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evaluator.core.commands.usage import out
from evaluator.core.suites.base import Suite
from evaluator.scoring.causes.costs import Costs, ExplainedTask, costs_of
from evaluator.scoring.causes.explanation import MOST_CAUSES, explanation
from evaluator.scoring.causes.of_records import CauseContext, causes_of
from evaluator.scoring.causes.taxonomy import Cause, Finding
from evaluator.scoring.metrics.aggregate import TaskScore

if TYPE_CHECKING:
    from evaluator.core.records import ResultRecord


def tasks_by_cause(tasks: Iterable[Sequence[Finding]]) -> Mapping[Cause, int]:
    """The number of tasks with each cause, most frequent first, ties in the order of the taxonomy.

    A task with several causes counts for each of them.
    """
    counts = Counter(cause for findings in tasks for cause in {finding.cause for finding in findings})
    order = list(Cause)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], order.index(item[0]))))


def tasks_by_first_cause(tasks: Iterable[Sequence[Finding]]) -> Mapping[Cause, int]:
    """The number of tasks with each cause as their main cause, in the order of `tasks_by_cause`."""
    return tasks_by_cause(findings[:1] for findings in tasks)


def causes_document(*, suite: Suite, records: "Sequence[ResultRecord]", samples: int = 1) -> dict[str, Any]:
    """The causes of an evaluation as a JSON object: their costs, counts of tasks by cause, and the findings of each
    task.

    Args:
        suite: the evaluated suite.
        records: records of its tasks.
        samples: number of samples of an executed task.
    """
    context = CauseContext(suite=suite)
    by_task = {record.task: causes_of(record, context=context) for record in records}
    below = {task: findings for task, findings in by_task.items() if findings}
    column = next(column for column in suite.metrics if column.primary)
    costs = costs_of(
        [ExplainedTask(score=TaskScore.of(record), findings=by_task[record.task]) for record in records],
        column=column,
        samples=samples,
        has_experts=suite.conditions.experts,
    )
    return {
        "version": "causes/1",
        "metric": column.label,
        "explanation": explanation(costs, metric=column.label),
        "costs": costs.to_json(),
        "below": len(below),
        "tasks_by_cause": {cause.value: count for cause, count in tasks_by_cause(below.values()).items()},
        "tasks_by_first_cause": {cause.value: count for cause, count in tasks_by_first_cause(below.values()).items()},
        "findings": {task: [finding.to_json() for finding in findings] for task, findings in below.items()},
    }


def print_causes(document: Mapping[str, Any], *, most: int = MOST_CAUSES) -> None:
    """Print why tasks are below the gold score: the headline and the costliest causes.

    Args:
        document: the result of `causes_document`.
        most: number of causes.
    """
    costs = Costs.from_json(document["costs"])
    lines = explanation(costs, metric=document["metric"], most=most)
    for line in lines:
        out.print(line, markup=False, highlight=False, soft_wrap=True)
    if further := len(costs.causes) - most if len(costs.causes) > most else 0:
        out.print(f"{further} more cause{'' if further == 1 else 's'} in the JSON.", highlight=False)
