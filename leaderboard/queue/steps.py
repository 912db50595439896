"""The steps that the reconciler takes: each a compare-and-set in one transaction that says whether it did anything."""

import logging
from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from celery.exceptions import SoftTimeLimitExceeded
from django.db import transaction

from evaluator.core.records import Outcome, Reason
from evaluator.planners.breaker import UNREACHABLE_TASKS
from gpu_jobs.launchers.base import Launcher, LaunchError
from gpu_jobs.tracing.spans import span
from leaderboard.catalog.library import library
from leaderboard.evaluations.models import (
    Evaluation,
    EvaluationReason,
    EvaluationState,
    Loss,
    Shard,
    ShardState,
    TaskResult,
)
from leaderboard.evaluations.results.results import usage_of
from leaderboard.evaluations.results.task_scores import task_score
from leaderboard.evaluations.states import DEADLINES, LEASABLE, advance, explain, is_open_fault
from leaderboard.messages.incidents import open_incident
from leaderboard.messages.models import Fault
from leaderboard.queue import canary, publishing, verification
from leaderboard.queue.leasing.evaluation_locks import lock_evaluation
from leaderboard.queue.leasing.leases import cancel_attempts, lose, lose_overdue
from leaderboard.queue.shards import end_shard
from leaderboard.queue.unreachable import AWAY

logger = logging.getLogger(__name__)


class LostAttempt(NamedTuple):
    """An attempt whose worker is gone, or is late."""

    attempt: UUID
    why: str = ""
    """What the launcher knows, as part of a sentence; empty: only the attempt's deadlines tell."""
    disrupted: bool = False
    """Whether the cluster took the worker away."""


def launch(evaluation: Evaluation) -> bool:
    """queued -> launching."""
    return advance(evaluation, target=EvaluationState.LAUNCHING, reason=EvaluationReason.STARTING_WORKER)


def ensure_worker(*, evaluation: Evaluation, launching: Launcher, awaited: EvaluationReason | None) -> bool:
    """See that a worker runs, and keep its handle. Launchers adopt what they started before, so that a process that
    is killed between the two lines leaves nothing behind that the next step does not find.

    Args:
        evaluation: for which.
        launching: what starts workers here.
        awaited: what it waits for instead (`liveness.awaited_of`); None: nothing.
    """
    state = EvaluationState(evaluation.state)
    if awaited is not None:
        _say_what_it_waits_for(evaluation, awaited)
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
    _say_what_it_waits_for(evaluation, EvaluationReason.WAITING_FOR_WORKER)
    return False


def _say_what_it_waits_for(evaluation: Evaluation, reason: EvaluationReason) -> None:
    # Each sweep comes here with each evaluation that waits: what is said already needs no transaction.
    if evaluation.state == EvaluationState.LAUNCHING and evaluation.reason != reason:
        explain(evaluation.pk, source=EvaluationState.LAUNCHING, reason=reason)


def lose_attempts(attempts: Sequence[LostAttempt]) -> bool:
    """Take shards from workers that are gone, or make no progress."""
    lost = [
        lose(attempt_id=one.attempt, detail=one.why, loss=Loss.DISRUPTED if one.disrupted else Loss.ENDED)
        if one.why
        else lose_overdue(one.attempt)
        for one in attempts
    ]
    return any(lost)


def give_up_shards(*, evaluation: Evaluation, shard_ids: Sequence[int]) -> bool:
    """End shards that were tried too often: their open tasks become `infra_fault`, which the owner can resume."""
    did = False
    for shard_id in shard_ids:
        with transaction.atomic():
            if lock_evaluation(evaluation.pk).state not in LEASABLE:
                return did
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
            did = True
    return did


def settle_canary(evaluation: Evaluation) -> bool:
    """Act on what the canary came to, where that was not done when its worker said that it was."""
    with transaction.atomic():
        return canary.act_on_canaries(lock_evaluation(evaluation.pk))


def aggregate(evaluation: Evaluation) -> bool:
    """launching or running -> aggregating."""
    return advance(evaluation, target=EvaluationState.AGGREGATING, reason=EvaluationReason.AGGREGATING)


def summarise(evaluation: Evaluation) -> bool:
    """aggregating -> completed, published in the same transaction by this process or by another one that publishes, or
    sent to verification; or -> on_hold if there are `unfinished.OPEN_FAULTS`, of a verification -> failed."""
    results = list(evaluation.results.select_related("task").order_by("task__position"))
    if faults := [one for one in results if is_open_fault(outcome=one.outcome, reason=one.reason)]:
        # Nobody resumes a verification: another one is asked for.
        again = evaluation.verifies_id is not None
        return advance(
            evaluation,
            target=EvaluationState.FAILED if again else EvaluationState.ON_HOLD,
            reason=EvaluationReason.NOT_RUN_AGAIN if again else _why_it_waits(faults),
            facts={
                "count": len(faults),
                "total": evaluation.tasks_total,
                "detail": _first_said(faults)[:1000],
            },
        )
    try:
        return _summarise(evaluation=evaluation, results=results)
    except SoftTimeLimitExceeded:
        # It says nothing about these scores: the process had no more time.
        raise
    except Exception as error:  # whatever it is, its owner must not be left without an answer
        logger.exception("the scores of evaluation %s could not be computed", evaluation.pk)
        explain(
            evaluation.pk,
            source=EvaluationState.AGGREGATING,
            reason=EvaluationReason.AGGREGATE_RETRY,
            detail=type(error).__name__,
        )
        return False


def _why_it_waits(faults: Sequence[TaskResult]) -> EvaluationReason:
    """Why an evaluation with these infrastructure faults waits for its owner. Pure."""
    reasons = {fault.reason for fault in faults}
    if reasons <= AWAY and len(faults) >= UNREACHABLE_TASKS:
        return EvaluationReason.PLANNER_UNAVAILABLE
    return EvaluationReason.WORKERS_LOST if reasons == {Reason.WORKER_LOST} else EvaluationReason.INFRA_FAULTS


def _first_said(faults: Sequence[TaskResult]) -> str:
    """The sentence of the fault that came first: those of tasks that were not run thereupon say less."""
    return min(faults, key=lambda fault: fault.pk).reason_text


def _summarise(*, evaluation: Evaluation, results: Sequence[TaskResult]) -> bool:
    summary = library().summarise(
        suite=evaluation.suite.slug,
        results=[task_score(result) for result in results],
        samples=evaluation.samples,
    )
    summary = {**summary, "usage": usage_of(results)}
    own = hasattr(evaluation, "own_worker_run")
    if not own and evaluation.is_submitted:
        if not publishing.make_ready(evaluation=evaluation, summary=summary):
            return False
        publishing.publish_ready(evaluation)
        return Evaluation.runs.filter(pk=evaluation.pk, state=EvaluationState.COMPLETED).exists()
    is_sampled = own and evaluation.is_submitted
    sample = verification.draw(evaluation=evaluation, results=results) if is_sampled else ()
    with transaction.atomic():
        done = advance(
            evaluation,
            target=EvaluationState.COMPLETED,
            reason=_reason_of_end(evaluation=evaluation, sample=sample),
            facts={"count": len(sample)},
            summary=summary,
        )
        if done and sample:
            verification.begin(evaluation=evaluation, tasks=sample)
    return done


def _reason_of_end(*, evaluation: Evaluation, sample: Sequence[str]) -> EvaluationReason:
    """Why an evaluation has ended that is not published now. `sample`: the tasks to be run again."""
    if evaluation.verifies_id is not None:
        return EvaluationReason.RUN_AGAIN
    if evaluation.member_of_id is not None:
        return EvaluationReason.MEMBER_MEASURED
    return EvaluationReason.AWAITING_VERIFICATION if sample else EvaluationReason.NOT_VERIFIED


def settle_verification(evaluation: Evaluation) -> bool:
    """Compare what a verification measured, or say why it measured nothing."""
    return verification.settle(evaluation.pk)


def fail_overdue(evaluation: Evaluation) -> bool:
    """End an evaluation whose state lasted too long."""
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
    """on_hold -> cancelled, since its owner did nothing."""
    lasts = DEADLINES[EvaluationState.ON_HOLD]
    return advance(
        evaluation,
        target=EvaluationState.CANCELLED,
        reason=EvaluationReason.ABANDONED,
        facts={"days": lasts.days if lasts else 0},
        only_overdue=True,
    )
