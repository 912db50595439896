"""Tasks that never ran: what an evaluation leaves without a result when it fails or is cancelled, and those that nobody
asked the planner for. Each gets a result that says so."""

from uuid import UUID

from django.db.models import Q

from evaluator.core.records import Outcome, Reason
from leaderboard.catalog.models import Task
from leaderboard.evaluations.models import Evaluation, EvaluationState, Shard, TaskResult
from leaderboard.evaluations.submitted import is_submitted

_UNASKED = frozenset({Reason.ENDPOINT_UNAVAILABLE, Reason.MODEL_UNAVAILABLE, Reason.WORKER_LOST})
LEFT_OUT = _UNASKED | {Reason.EVALUATION_FAILED}
"""Reasons of tasks that did not run although they could have."""
NEVER_RAN = Q(outcome=Outcome.CANCELLED) | Q(outcome=Outcome.NOT_RUN, reason__in=LEFT_OUT)
"""Results of tasks that were left out. They do not count as ended."""
OPEN_FAULTS = Q(outcome=Outcome.INFRA_FAULT) | Q(outcome=Outcome.NOT_RUN, reason__in=_UNASKED)
"""Results without a score that the owner resumes or accepts: infrastructure faults, and the tasks that nobody asked the
planner for because of them."""

_OUTCOMES = {
    EvaluationState.FAILED: (Outcome.NOT_RUN, Reason.EVALUATION_FAILED),
    EvaluationState.CANCELLED: (Outcome.CANCELLED, ""),
}


def never_ran(*, outcome: str, reason: str) -> bool:
    """Whether a result with this outcome and reason is one of `NEVER_RAN`."""
    return outcome == Outcome.CANCELLED or (outcome == Outcome.NOT_RUN and reason in LEFT_OUT)


def is_open_fault(*, outcome: str, reason: str) -> bool:
    """Whether a result with this outcome and reason is one of `OPEN_FAULTS`."""
    return outcome == Outcome.INFRA_FAULT or (outcome == Outcome.NOT_RUN and reason in _UNASKED)


def close_open_tasks(*, evaluation_id: UUID, target: EvaluationState, why: str) -> None:
    """Give each task without a result one, in the transaction in which the evaluation enters `target`.

    Before: nothing; for states other than `failed` and `cancelled` nothing happens.
    After: each task of the evaluation has a result. `why` is the sentence on those of a failed evaluation.
    """
    if target not in _OUTCOMES:
        return
    outcome, reason = _OUTCOMES[target]
    evaluation = Evaluation.objects.only("suite_id", "verifies_id", "member_of_id").get(pk=evaluation_id)
    tasks = Task.objects.filter(suite=evaluation.suite_id).exclude(results__evaluation=evaluation_id)
    if not is_submitted(evaluation):
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
