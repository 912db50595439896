"""The causes of tasks below the gold score in the output of `planarena evaluate`."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evaluator.core.commands.listing import Listing
from evaluator.core.commands.usage import out
from evaluator.core.suites.base import Suite
from evaluator.scoring.causes.of_records import CauseContext, causes_of
from evaluator.scoring.causes.taxonomy import Cause, Finding

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


def causes_document(*, suite: Suite, records: "Iterable[ResultRecord]") -> dict[str, Any]:
    """The causes of an evaluation as a JSON object: counts of tasks by cause, and the findings of each task.

    Args:
        suite: the evaluated suite.
        records: records of its tasks.
    """
    context = CauseContext(suite=suite)
    by_task = {record.task: causes_of(record, context=context) for record in records}
    below = {task: findings for task, findings in by_task.items() if findings}
    return {
        "version": "causes/1",
        "below": len(below),
        "tasks_by_cause": {cause.value: count for cause, count in tasks_by_cause(below.values()).items()},
        "tasks_by_first_cause": {cause.value: count for cause, count in tasks_by_first_cause(below.values()).items()},
        "findings": {task: [finding.to_json() for finding in findings] for task, findings in below.items()},
    }


def print_causes(document: Mapping[str, Any], *, tasks: int) -> None:
    """Print the counts of `causes_document`, unless every task is at the gold score.

    Args:
        document: the result of `causes_document`.
        tasks: number of evaluated tasks.
    """
    if not document["below"]:
        return
    weightiest = document["tasks_by_first_cause"]
    title = f"Why {document['below']} of {tasks} tasks are below the gold score"
    table = Listing("cause", "tasks", "of these the weightiest", title=title)
    for name, count in document["tasks_by_cause"].items():
        table.add_row(Cause(name).label, str(count), str(weightiest.get(name, 0)))
    table.show(out)
