"""Shards, and the results that the site itself writes. The caller has locked the evaluation."""

from collections.abc import Sequence

from django.utils import timezone

from evaluator.core.records import FAULT_SCORE, Outcome, Reason
from leaderboard.catalog.models import Task
from leaderboard.evaluations.causes import find_causes_of, record_of_fault
from leaderboard.evaluations.models import Evaluation, Shard, ShardState, TaskResult
from leaderboard.evaluations.states import NewResult, announce, move_shard
from leaderboard.platform.database import database_now


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
