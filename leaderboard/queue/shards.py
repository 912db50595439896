"""Queueing evaluations in shards, and ending shards that no worker will finish. Callers lock evaluations that exist."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.utils import timezone

from evaluator.core.records import FAULT_SCORE, Outcome, Reason
from leaderboard.catalog.hidden_data import check_open, facts_of, in_asking_order
from leaderboard.catalog.library import RunConditions, tasks_per_shard
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.finding_causes import find_causes_of, record_of_fault
from leaderboard.evaluations.models import (
    Evaluation,
    EvaluationReason,
    EvaluationState,
    Shard,
    ShardState,
    Submission,
    TaskResult,
    sentence,
)
from leaderboard.evaluations.states import NewResult, announce, deadline_of, move_shard
from leaderboard.planners.kinds import kind_of
from leaderboard.platform.database import database_now
from leaderboard.platform.tracing.evaluations import keep_trace
from leaderboard.queue.stopping import enqueue_reconcile

CANARIES = 2
"""Canary tasks of an evaluation, at most (`canary.py`)."""


def queue_tasks(
    *, submission: Submission, suite: Suite, conditions: RunConditions, keys: Sequence[str], **fields: Any
) -> Evaluation:
    """Queue an evaluation of these tasks, within the current transaction.

    After: it is `queued` with its shards; a reconcile is requested after the commit.

    Args:
        submission: the submission.
        suite: the suite.
        conditions: the conditions.
        keys: tasks that workers run, in order; hidden ones run in the order of their seed.
        fields: further fields of the evaluation.

    Raises:
        DataRefusedError: the hidden data have been published; the transaction must be rolled back.
    """
    now = database_now()
    keys = in_asking_order(keys, suite=suite, of=conditions)
    shards, leasable = split(submission=submission, keys=keys, size=tasks_per_shard(suite))
    evaluation = Evaluation.runs.create(
        submission=submission,
        suite=suite,
        **conditions._asdict(),
        state_since=now,
        state_deadline=deadline_of(EvaluationState.QUEUED, now=now),
        reason=EvaluationReason.WAITING,
        reason_text=sentence(EvaluationReason.WAITING),
        leasable_shards=leasable,
        provenance={
            "suite_digest": suite.digest,
            "profile_digest": conditions.profile_digest,
            "data_digest": conditions.data_digest,
            **facts_of(conditions, suite=suite),
            "workers": [],
        },
        **fields,
    )
    if evaluation.is_submitted and not submission.is_regrade:
        check_open(evaluation)
    add_shards(evaluation=evaluation, shards=shards)
    keep_trace(evaluation.pk)
    enqueue_reconcile(evaluation.pk)
    return evaluation


def asks_submitted_planner(submission: Submission) -> bool:
    """Whether workers call a planner that may be unreachable or slow."""
    return not submission.is_regrade and kind_of(submission.planner).has_canary


def split(*, submission: Submission, keys: Sequence[str], size: int) -> tuple[list[list[str]], int | None]:
    """The tasks of a new evaluation by shard, and the number of shards that may be leased at first (None: all)."""
    each = settings.CANARY_TASKS
    first = CANARIES * each
    if not each or not asks_submitted_planner(submission) or len(keys) <= max(size, first):
        return chunks(keys, size=size), None
    return chunks(keys[:first], size=each) + chunks(keys[first:], size=size), 1


def chunks(keys: Sequence[str], *, size: int) -> list[list[str]]:
    """Lists of at most `size` keys."""
    return [list(keys[start : start + size]) for start in range(0, len(keys), size)]


def remaining_tasks(shard: Shard) -> list[str]:
    """The shard's tasks that have no result yet, in order."""
    done = set(
        TaskResult.objects.filter(evaluation=shard.evaluation_id, task__key__in=shard.task_keys).values_list(
            "task__key", flat=True
        )
    )
    return [key for key in shard.task_keys if key not in done]


def add_shards(*, evaluation: Evaluation, shards: Sequence[Sequence[str]]) -> None:
    """Append shards with these tasks."""
    now = database_now()
    first = Shard.objects.filter(evaluation=evaluation).count()
    Shard.objects.bulk_create(
        Shard(evaluation=evaluation, number=number, task_keys=list(keys), available_at=now)
        for number, keys in enumerate(shards, start=first)
    )


def end_shard(*, shard: Shard, evaluation: Evaluation, outcome: Outcome, reason: Reason, text: str) -> int:
    """End a shard that no worker holds, and return the number of its tasks without a result.

    Before: the shard is locked, and has no live attempt.
    After: it is `done`, and these tasks have ended as `outcome`.
    """
    keys = remaining_tasks(shard)
    score = FAULT_SCORE if outcome is Outcome.PLANNER_FAULT else None
    tasks = list(Task.objects.filter(suite=evaluation.suite_id, key__in=keys).order_by("position"))
    records = [
        record_of_fault(task=task, suite=evaluation.suite.slug, outcome=outcome, reason=reason) for task in tasks
    ]
    # A task that never ran has no causes.
    ran = outcome is not Outcome.NOT_RUN
    causes = find_causes_of(evaluation=evaluation, records=records) if ran else [[] for _ in tasks]
    TaskResult.objects.bulk_create(
        [
            TaskResult(
                evaluation=evaluation,
                task=task,
                outcome=outcome,
                reason=reason,
                reason_text=text,
                score=score,
                causes=causes_of_task,
                updated=timezone.now(),
            )
            for task, causes_of_task in zip(tasks, causes, strict=True)
        ],
        ignore_conflicts=True,
    )
    move_shard(shard_id=shard.pk, source=ShardState(shard.state), target=ShardState.DONE, tries=shard.tries)
    announce(evaluation_id=evaluation.pk, results=[NewResult(task=key, outcome=outcome, score=score) for key in keys])
    return len(keys)


def end_waiting_shards(*, evaluation: Evaluation, reason: Reason, text: str) -> int:
    """End every waiting shard, and return the number of tasks that become `not_run`.

    After: no worker may lease a shard of this evaluation; leased shards go on. Once they have ended too, the evaluation
    waits for its owner.
    """
    waiting = Shard.objects.select_for_update().filter(evaluation=evaluation, state=ShardState.PENDING)
    ended = [
        end_shard(shard=shard, evaluation=evaluation, outcome=Outcome.NOT_RUN, reason=reason, text=text)
        for shard in waiting.order_by("number")
    ]
    Evaluation.runs.filter(pk=evaluation.pk).update(leasable_shards=None)
    return sum(ended)
