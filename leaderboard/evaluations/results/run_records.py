"""The stored records of an evaluation as a run of its planner."""

from collections.abc import Collection

from evaluator.core.records import ResultRecord
from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.results.objects import read_record, server_store
from leaderboard.evaluations.results.task_scores import task_score


def records_of(evaluation: Evaluation, *, tasks: Collection[str] | None = None) -> tuple[dict[str, ResultRecord], int]:
    """The records of an evaluation by task, and how many the store has lost. Accepted faults are the planner's.

    Args:
        evaluation: the run.
        tasks: keys of the tasks to read; None: all.
    """
    store = server_store(split=evaluation.split)
    records: dict[str, ResultRecord] = {}
    lost = 0
    rows = evaluation.results.exclude(record_digest="").select_related("task").order_by("task__position")
    for row in rows if tasks is None else rows.filter(task__key__in=tasks):
        record = read_record(digest=row.record_digest, store=store)
        if record is None:
            lost += 1
            continue
        scored = task_score(row)
        records[row.task.key] = record.model_copy(update={"outcome": scored.outcome, "score": scored.score})
    return records, lost
