"""Unreachable planners: after several such tasks in a row the remaining ones are not run, and the owner decides."""

from collections.abc import Sequence

from django.utils import timezone

from evaluator.core.records import FAULT_SCORE, Outcome, Reason, ResultRecord
from evaluator.planners.breaker import UNREACHABLE_TASKS
from leaderboard.evaluations.finding_causes import find_causes_of, record_of_fault
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.evaluations.states import OPEN_FAULTS
from leaderboard.queue.shards import end_waiting_shards

AWAY = frozenset({Reason.ENDPOINT_UNAVAILABLE, Reason.MODEL_UNAVAILABLE})
"""Faults of tasks whose planner could not be reached or downloaded; it may be available again later."""


def leave_to_owner(*, evaluation: Evaluation, reason: Reason, why: str) -> int:
    """End the waiting shards without running them, and return the number of their tasks.

    Before: the evaluation is locked; `why` is the reason text of the planner's last task.
    After: as `end_waiting_shards`.
    """
    return end_waiting_shards(evaluation=evaluation, reason=reason, text=f"Not asked: {why}"[:2000])


def count_against_planner(evaluation: Evaluation) -> int:
    """Count the open faults of an evaluation as faults of its planner, and return their number.

    Before: the evaluation is locked.
    After: they are `planner_fault` with a score of 0, marked as accepted, and have causes.
    """
    faults = list(TaskResult.objects.filter(OPEN_FAULTS, evaluation=evaluation).select_related("task"))
    not_run = [fault for fault in faults if fault.outcome == Outcome.NOT_RUN]
    records = [
        record_of_fault(
            task=fault.task, suite=evaluation.suite.slug, outcome=Outcome.PLANNER_FAULT, reason=Reason(fault.reason)
        )
        for fault in not_run
    ]
    for fault, causes in zip(not_run, find_causes_of(evaluation=evaluation, records=records), strict=True):
        fault.causes = causes
    now = timezone.now()
    for fault in faults:
        fault.outcome, fault.score, fault.accepted, fault.updated = Outcome.PLANNER_FAULT, FAULT_SCORE, True, now
    TaskResult.objects.bulk_update(faults, ["outcome", "score", "accepted", "updated", "causes"], batch_size=500)
    return len(faults)


def is_reached(records: Sequence[ResultRecord]) -> bool:
    """Whether the planner was reachable in one of the latest results, given in order of arrival. Pure."""
    return any(record.reason not in AWAY for record in records[-UNREACHABLE_TASKS:])


def stop_if_unreachable(evaluation: Evaluation) -> bool:
    """Stop evaluating a planner that the last tasks could not reach. False if it goes on.

    Before: the evaluation is locked; a worker has just completed a shard.
    """
    if evaluation.leasable_shards is not None:
        return False
    # In order of arrival. Results that the site itself wrote have no attempt.
    from_workers = TaskResult.objects.filter(evaluation=evaluation, attempt__isnull=False).order_by("-pk")
    last = list(from_workers.values_list("reason", "reason_text")[:UNREACHABLE_TASKS])
    if len(last) < UNREACHABLE_TASKS or any(reason not in AWAY for reason, _ in last):
        return False
    reason, text = last[-1]
    why = f"the planner could not be reached for {UNREACHABLE_TASKS} tasks in a row. {text}"
    return leave_to_owner(evaluation=evaluation, reason=Reason(reason), why=why) > 0
