"""The tasks that an evaluation leaves without a result when it fails or is cancelled: each gets one that says so."""

from uuid import UUID

from django.db.models import Q

from evaluator.records import Outcome, Reason
from leaderboard.catalog.models import Task
from leaderboard.evaluations.models import Evaluation, EvaluationState, Shard, TaskResult

NEVER_RAN = Q(outcome=Outcome.CANCELLED) | Q(outcome=Outcome.NOT_RUN, reason=Reason.EVALUATION_FAILED)
"""Results that stand for a task which the end of its evaluation left out. They do not count as ended."""

_OUTCOMES = {
    EvaluationState.FAILED: (Outcome.NOT_RUN, Reason.EVALUATION_FAILED),
    EvaluationState.CANCELLED: (Outcome.CANCELLED, ""),
}


def never_ran(*, outcome: str, reason: str) -> bool:
    """Whether a result with this outcome and reason is one of `NEVER_RAN`."""
    return outcome == Outcome.CANCELLED or (outcome == Outcome.NOT_RUN and reason == Reason.EVALUATION_FAILED)


def close_open_tasks(*, evaluation_id: UUID, target: EvaluationState, why: str) -> None:
    """Give each task without a result one, in the transaction in which the evaluation enters `target`.

    Before: nothing; for states other than `failed` and `cancelled` nothing happens.
    After: each task of the evaluation has a result. `why` is the sentence on those of a failed evaluation.
    """
    if target not in _OUTCOMES:
        return
    outcome, reason = _OUTCOMES[target]
    evaluation = Evaluation.objects.only("suite_id", "verifies_id").get(pk=evaluation_id)
    tasks = Task.objects.filter(suite=evaluation.suite_id).exclude(results__evaluation=evaluation_id)
    if evaluation.verifies_id is not None:
        shards = Shard.objects.filter(evaluation=evaluation_id).values_list("task_keys", flat=True)
        tasks = tasks.filter(key__in={key for keys in shards for key in keys})
    text = why if target == EvaluationState.FAILED else ""
    TaskResult.objects.bulk_create(
        [
            TaskResult(evaluation=evaluation, task=task, outcome=outcome, reason=reason, reason_text=text, causes=[])
            for task in tasks.order_by("position")
        ],
        ignore_conflicts=True,
    )
