"""The steps of the reconciler: each is a compare-and-set in one transaction and returns whether it changed anything."""

import logging
from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from celery.exceptions import SoftTimeLimitExceeded
from django.db import transaction

from evaluator.core.records import Outcome, Reason
from evaluator.planners.breaker import UNREACHABLE_TASKS
from evaluator.scoring.readability import Reading
from gpu_jobs.launchers.base import Launcher, LaunchError
from gpu_jobs.tracing.spans import span
from leaderboard.catalog.library import device_class, digests_today, library
from leaderboard.evaluations.models import (
    Attempt,
    AttemptState,
    Evaluation,
    EvaluationReason,
    EvaluationState,
    Loss,
    Shard,
    ShardState,
    TaskResult,
)
from leaderboard.evaluations.results.devices import devices_of
from leaderboard.evaluations.results.further_scores import with_further
from leaderboard.evaluations.results.results import usage_by_role, usage_of
from leaderboard.evaluations.results.task_scores import task_score
from leaderboard.evaluations.states import DEADLINES, LEASABLE, advance, explain, is_open_fault
from leaderboard.evaluations.visibility import withholds_tasks
from leaderboard.messages.incidents import open_incident
from leaderboard.messages.models import Fault
from leaderboard.queue import canary, further_runs, publishing, verification
from leaderboard.queue.leasing.evaluation_locks import lock_evaluation
from leaderboard.queue.leasing.leases import cancel_attempts, lose, lose_overdue
from leaderboard.queue.shards import end_shard
from leaderboard.queue.unreachable import AWAY

logger = logging.getLogger(__name__)


class LostAttempt(NamedTuple):
    """An attempt whose worker is gone or missed a deadline."""

    attempt: UUID
    why: str = ""
    """The launcher's reason, as part of a sentence; empty if the attempt only missed a deadline."""
    disrupted: bool = False
    """Whether the cluster evicted the worker."""


def launch(evaluation: Evaluation) -> bool:
    """queued -> launching."""
    return advance(evaluation, target=EvaluationState.LAUNCHING, reason=EvaluationReason.STARTING_WORKER)


def ensure_worker(*, evaluation: Evaluation, launching: Launcher, awaited: EvaluationReason | None) -> bool:
    """Make sure that a worker runs, and store its handle. Launchers adopt running workers, so that the next step
    recovers if this process is killed between the two.

    Args:
        evaluation: the evaluation.
        launching: what starts workers here.
        awaited: what the evaluation waits for instead (`reconcile.awaited_of`); None: nothing.
    """
    state = EvaluationState(evaluation.state)
    if awaited is not None:
        _explain_waiting(evaluation, awaited)
        return False
    try:
        with span("launch worker"):
            handle = launching.ensure(evaluation_id=str(evaluation.pk))
    except LaunchError as error:
        if explain(evaluation.pk, source=state, reason=EvaluationReason.LAUNCH_FAILED, detail=str(error)[:1000]):
            logger.warning("no worker for evaluation %s: %s", evaluation.pk, error)
        return False
    if handle != evaluation.launch_handle:
        Evaluation.runs.filter(pk=evaluation.pk, attempt=evaluation.attempt).update(launch_handle=handle)
    _explain_waiting(evaluation, EvaluationReason.WAITING_FOR_WORKER)
    return False


def _explain_waiting(evaluation: Evaluation, reason: EvaluationReason) -> None:
    # Every sweep calls this for every waiting evaluation: an unchanged reason needs no transaction.
    if evaluation.state == EvaluationState.LAUNCHING and evaluation.reason != reason:
        explain(evaluation.pk, source=EvaluationState.LAUNCHING, reason=reason)


def lose_attempts(attempts: Sequence[LostAttempt]) -> bool:
    """Take shards from workers that are gone or make no progress."""
    lost = [
        lose(attempt_id=attempt, detail=why, loss=Loss.DISRUPTED if disrupted else Loss.ENDED)
        if why
        else lose_overdue(attempt)
        for attempt, why, disrupted in attempts
    ]
    return any(lost)


def give_up_shards(*, evaluation: Evaluation, shard_ids: Sequence[int]) -> bool:
    """End shards that are out of tries: their open tasks become `infra_fault`, which the owner can resume."""
    changed = False
    for shard_id in shard_ids:
        with transaction.atomic():
            if lock_evaluation(evaluation.pk).state not in LEASABLE:
                return changed
            shard = Shard.objects.select_for_update().filter(pk=shard_id, state=ShardState.PENDING).first()
            if shard is None:
                continue
            text = f"The task was tried {shard.tries} times and its worker was lost each time."
            end_shard(
                shard=shard,
                evaluation=evaluation,
                outcome=Outcome.INFRA_FAULT,
                reason=Reason.WORKER_LOST,
                text=text,
            )
            changed = True
    return changed


def follow_release(evaluation: Evaluation) -> bool:
    """Measure a waiting evaluation under the rules of this release, whose workers would refuse it under others.

    It fails if tasks of it have ended, since no score may mix rules, if its tasks are not asked any more, and if it
    repeats tasks of another evaluation.
    """
    with transaction.atomic():
        locked = lock_evaluation(evaluation.pk)
        if (locked.state, locked.attempt) != (evaluation.state, evaluation.attempt):
            return False
        if Attempt.objects.filter(shard__evaluation=locked, state=AttemptState.LIVE).exists():
            return False
        repeats = locked.verifies_id is not None or locked.member_of_id is not None
        if repeats or not locked.suite.current or locked.results.exists():
            return advance(locked, target=EvaluationState.FAILED, reason=EvaluationReason.OTHER_RULES)
        rules, data = digests_today(locked)
        Evaluation.runs.filter(pk=locked.pk).update(
            profile_digest=rules,
            data_digest=data,
            provenance={**locked.provenance, "profile_digest": rules, "data_digest": data},
        )
    logger.info("evaluation %s is measured under the rules of this release", evaluation.pk)
    return True


def settle_canary(evaluation: Evaluation) -> bool:
    """Act on the results of the canary, unless that was done when its worker completed it."""
    with transaction.atomic():
        return canary.act_on_canaries(lock_evaluation(evaluation.pk))


def aggregate(evaluation: Evaluation) -> bool:
    """launching or running -> aggregating."""
    return advance(evaluation, target=EvaluationState.AGGREGATING, reason=EvaluationReason.AGGREGATING)


def summarise(evaluation: Evaluation) -> bool:
    """aggregating -> completed, with publication or the start of a verification in the same transaction, once the
    further runs are in; with open faults (`states.OPEN_FAULTS`) -> on_hold, or -> failed for a verification."""
    results = list(evaluation.results.select_related("task").order_by("task__position"))
    if faults := [result for result in results if is_open_fault(outcome=result.outcome, reason=result.reason)]:
        reasons = {fault.reason for fault in faults}
        if evaluation.verifies_id is not None:
            # A verification is never resumed; a new one may be requested.
            reason = EvaluationReason.NOT_RUN_AGAIN
        elif reasons <= AWAY and len(faults) >= UNREACHABLE_TASKS:
            reason = EvaluationReason.PLANNER_UNAVAILABLE
        elif reasons == {Reason.WORKER_LOST}:
            reason = EvaluationReason.WORKERS_LOST
        else:
            reason = EvaluationReason.INFRA_FAULTS
        # The first fault explains most: tasks that were not run because of it say less.
        detail = min(faults, key=lambda fault: fault.pk).reason_text[:1000]
        return advance(
            evaluation,
            target=EvaluationState.FAILED if evaluation.verifies_id is not None else EvaluationState.ON_HOLD,
            reason=reason,
            facts={"count": len(faults), "total": evaluation.tasks_total, "detail": detail},
        )
    try:
        if evaluation.is_submitted and further_runs.ask_again(evaluation=evaluation, results=results):
            return False
        return _summarise(evaluation=evaluation, results=results)
    except SoftTimeLimitExceeded:
        # The process ran out of time; the scores may be fine.
        raise
    except Exception as error:  # the owner must see that it is retried
        logger.exception("the scores of evaluation %s could not be computed", evaluation.pk)
        explain(
            evaluation.pk,
            source=EvaluationState.AGGREGATING,
            reason=EvaluationReason.AGGREGATE_RETRY,
            detail=type(error).__name__,
        )
        return False


def _summarise(*, evaluation: Evaluation, results: Sequence[TaskResult]) -> bool:
    report = further_runs.report(evaluation) if evaluation.is_submitted else None
    scores = {evaluation.pk: [task_score(result) for result in results]}
    summary = library().summarise(
        suite=evaluation.suite.slug,
        results=with_further(scores)[evaluation.pk],
        samples=evaluation.samples,
        is_deterministic=report is not None and report.is_deterministic,
    )
    reading = Reading.of((result, result.reading) for result in results)
    summary = {**summary, "usage": usage_of(results), "reading": reading.to_json()}
    if by_role := usage_by_role(result.role_usage for result in results):
        summary["role_usage"] = by_role
    if evaluation.suite.runs_experts and (used := devices_of(evaluation.provenance or {})):
        summary["devices"] = [device.to_json() for device in used]
    if report is not None:
        summary["runs"] = report.to_json()
    elif evaluation.is_further_run and withholds_tasks(reader=None, of=evaluation):
        # Means over a few hidden tasks would reveal what single ones score.
        summary = {"metrics": {}, "outcomes": {}}
    devices = _device_class(evaluation)
    own = hasattr(evaluation, "own_worker_run")
    if not own and evaluation.is_submitted:
        if not publishing.make_ready(evaluation=evaluation, summary=summary, device_class=devices):
            return False
        publishing.publish_ready(evaluation)
        return Evaluation.runs.filter(pk=evaluation.pk, state=EvaluationState.COMPLETED).exists()
    is_sampled = own and evaluation.is_submitted
    sample = verification.draw(evaluation=evaluation, results=results) if is_sampled else ()
    if evaluation.verifies_id is not None:
        reason = EvaluationReason.RUN_AGAIN
    elif evaluation.is_further_run:
        reason = EvaluationReason.FURTHER_RUN
    elif evaluation.member_of_id is not None:
        reason = EvaluationReason.MEMBER_MEASURED
    else:
        reason = EvaluationReason.AWAITING_VERIFICATION if sample else EvaluationReason.NOT_VERIFIED
    with transaction.atomic():
        done = advance(
            evaluation,
            target=EvaluationState.COMPLETED,
            reason=reason,
            facts={"count": len(sample)},
            summary=summary,
            device_class=devices,
        )
        if done and sample:
            verification.begin(evaluation=evaluation, tasks=sample)
    return done


def _device_class(evaluation: Evaluation) -> str:
    """The class of the devices on which the evaluation's experts ran; empty where none runs."""
    if not evaluation.suite.runs_experts:
        return ""
    workers = (evaluation.provenance or {}).get("workers", ())
    devices = (worker.get("device") for worker in workers if isinstance(worker, dict))
    return device_class(device for device in devices if isinstance(device, str) and device)


def fail_overdue(evaluation: Evaluation) -> bool:
    """Fail an evaluation whose deadline has passed."""
    state = EvaluationState(evaluation.state)
    lasts = DEADLINES[state]
    if lasts is None:
        return False
    hours = int(lasts.total_seconds() // 3600)
    reason = {
        EvaluationState.RUNNING: EvaluationReason.STALLED,
        EvaluationState.AGGREGATING: EvaluationReason.AGGREGATE_FAILED,
    }.get(state, EvaluationReason.NO_WORKER)
    with transaction.atomic():
        done = advance(
            evaluation, target=EvaluationState.FAILED, reason=reason, facts={"hours": hours}, only_overdue=True
        )
        if done:
            cancel_attempts(evaluation.pk)
        if done and reason == EvaluationReason.AGGREGATE_FAILED:
            why = f"The scores of evaluation {evaluation.pk} could not be computed. {evaluation.reason_text}"
            open_incident(fault=Fault.NO_SCORES, suite=evaluation.suite.slug, why=why)
    return done


def abandon(evaluation: Evaluation) -> bool:
    """on_hold -> cancelled, since the owner did not act."""
    lasts = DEADLINES[EvaluationState.ON_HOLD]
    return advance(
        evaluation,
        target=EvaluationState.CANCELLED,
        reason=EvaluationReason.ABANDONED,
        facts={"days": lasts.days if lasts else 0},
        only_overdue=True,
    )
