"""The canary: one task of a planner that may be broken runs first, so that a broken planner costs seconds, not hours.

The first shards of such an evaluation hold one task each. Workers may lease the first; its result decides:

    the planner answered, with any plan                    all shards are opened
    the planner is broken (`BROKEN`)                       the second canary runs; if it ends the same way, the
                                                           evaluation fails with the planner's answer, else all shards
                                                           are opened
    its worker was lost                                    the same; if all shards are opened, the task runs again
    the planner is unreachable (`unreachable.AWAY`)        it is retried once after a pause; if it is still unreachable,
                                                           the other tasks are not run, and the evaluation waits for its
                                                           owner
    another infra_fault                                    it is retried after a pause, like any shard; once out of
                                                           tries the fault stays, and all shards are opened

A resumed evaluation has a new canary. Earlier scores are kept: if the new canary finds that the planner is broken, the
evaluation waits for its owner again.

Bundled planners have no canary: they are part of this release, and are always reachable. Neither has an evaluation
whose tasks fit into one shard.
"""

from collections.abc import Sequence
from datetime import timedelta
from enum import Enum, auto
from typing import NamedTuple

from django.conf import settings
from django.db.models import QuerySet

from evaluator.core.records import Outcome, Reason
from leaderboard.evaluations import states
from leaderboard.evaluations.models import (
    AttemptState,
    Evaluation,
    EvaluationReason,
    EvaluationState,
    Shard,
    ShardState,
    TaskResult,
)
from leaderboard.evaluations.states import advance, end_attempts_of, explain
from leaderboard.queue import unreachable
from leaderboard.queue.shards import CANARIES, add_shards, end_shard
from leaderboard.queue.stopping import enqueue_reconcile, enqueue_stop
from leaderboard.queue.unreachable import AWAY

BROKEN = frozenset(
    {
        Reason.INVALID_RESPONSE,
        Reason.RESPONSE_TOO_LARGE,
        Reason.PLANNER_TIMEOUT,
        Reason.REFUSED_BY_ENDPOINT,
        Reason.ADDRESS_REFUSED,
        Reason.MODEL_UNUSABLE,
        Reason.ENDED_WORKER,
    }
)
"""Faults without a valid response. A plan that is unreadable, invalid or too costly is a response, and is measured. An
unreachable endpoint is an `infra_fault`."""
AWAY_TRIES = 2
"""Tries of a canary whose planner is unreachable."""
_AWAY_REST = timedelta(seconds=20)
"""Pause between these tries: about as long as a server takes to restart."""


class Verdict(Enum):
    """Conclusion from the canaries so far."""

    FAN_OUT = auto()
    ASK_AGAIN = auto()
    BROKEN = auto()
    AWAY = auto()


class Ending(NamedTuple):
    """Outcome of one task."""

    outcome: str
    reason: str


def judge(canaries: Sequence[Sequence[Ending]]) -> Verdict:
    """The verdict on the endings of the canaries, in order. Pure."""
    last = canaries[-1] if canaries else ()
    if last and all(ending.outcome == Outcome.INFRA_FAULT and ending.reason in AWAY for ending in last):
        return Verdict.AWAY
    causes = [_cause(endings) for endings in canaries]
    if None in causes or len(set(causes)) > 1:
        return Verdict.FAN_OUT
    return Verdict.BROKEN if len(causes) >= CANARIES else Verdict.ASK_AGAIN


def _cause(endings: Sequence[Ending]) -> str | None:
    """Why the planner is broken, if all tasks of a canary agree."""
    reasons = {ending.reason for ending in endings}
    if Reason.ENDED_WORKER in reasons:
        # Even if earlier tasks had answers.
        return Reason.ENDED_WORKER
    if len(reasons) != 1 or any(ending.outcome != Outcome.PLANNER_FAULT for ending in endings):
        return None
    (reason,) = reasons
    return reason if reason in BROKEN else None


def is_canary(shard: Shard) -> bool:
    """Whether this shard's result decides about the other shards."""
    evaluation = shard.evaluation
    leasable = evaluation.leasable_shards
    return leasable is not None and evaluation.canaries_from <= shard.number < leasable


def ran_into_infra_fault(shard: Shard) -> bool:
    """Whether this is a canary that ended with an `infra_fault` and may be retried."""
    if not is_canary(shard):
        return False
    reasons = set(_faults(shard).values_list("reason", flat=True))
    tries = min(AWAY_TRIES, settings.SHARD_TRIES) if reasons and reasons <= AWAY else settings.SHARD_TRIES
    return bool(reasons) and shard.tries < tries


def rest_after_fault(shard: Shard) -> timedelta:
    """Shortest pause of a canary that ended with an `infra_fault`."""
    return _AWAY_REST if _faults(shard).filter(reason__in=AWAY).exists() else timedelta()


def end_lost(shard: Shard, *, why: str) -> None:
    """End a canary whose worker was lost, and act on the canaries.

    Before: its evaluation and the shard are locked; the shard is leased, and its attempt has just been lost.
    After: it is `done`, its open tasks are faults of the planner, and the canaries are settled.
    """
    text = f"Its worker was lost: {why}."
    end_shard(
        shard=shard, evaluation=shard.evaluation, outcome=Outcome.PLANNER_FAULT, reason=Reason.ENDED_WORKER, text=text
    )
    act_on_canaries(shard.evaluation)


def forget_faults(shard: Shard) -> None:
    """Delete the `infra_fault` results of a canary that will be retried, and explain the retry to the owner."""
    detail = _faults(shard).values_list("reason_text", flat=True).first() or ""
    _faults(shard).delete()
    explain(shard.evaluation_id, reason=EvaluationReason.CANARY_RETRY, detail=detail[:300])


def _faults(shard: Shard) -> QuerySet[TaskResult]:
    return _results_of(shard).filter(outcome=Outcome.INFRA_FAULT)


def act_on_canaries(evaluation: Evaluation) -> bool:
    """Act on the results of the canaries.

    Before: the evaluation is locked; nothing else is assumed.
    After: all shards or the second canary may be leased, or the evaluation is `failed` or left to its owner (True); or
    there was nothing to decide and nothing changed (False).
    """
    leasable = evaluation.leasable_shards
    if leasable is None or evaluation.state not in states.LEASABLE:
        return False
    of_this_run = Shard.objects.filter(evaluation=evaluation, number__gte=evaluation.canaries_from, number__lt=leasable)
    canaries = list(of_this_run.order_by("number"))
    if any(shard.state != ShardState.DONE for shard in canaries):
        return False
    results = [list(_results_of(shard).order_by("task__position")) for shard in canaries]
    last = results[-1][0] if results and results[-1] else None
    match judge([[Ending(row.outcome, row.reason) for row in rows] for rows in results]):
        case Verdict.FAN_OUT:
            _fan_out(evaluation, canaries=canaries)
        case Verdict.ASK_AGAIN:
            Evaluation.runs.filter(pk=evaluation.pk).update(leasable_shards=leasable + 1)
            explain(evaluation.pk, reason=EvaluationReason.SECOND_CANARY, detail=_text_of(last))
        case Verdict.AWAY:
            assert last is not None, "an unreachable planner has a result"
            unreachable.leave_to_owner(evaluation=evaluation, reason=Reason(last.reason), why=_text_of(last))
            enqueue_reconcile(evaluation.pk)
        case Verdict.BROKEN:
            _stop_broken(evaluation, last=last)
    return True


def _fan_out(evaluation: Evaluation, *, canaries: Sequence[Shard]) -> None:
    """Open all shards. A canary whose worker was lost once runs again: one loss is no evidence."""
    Evaluation.runs.filter(pk=evaluation.pk).update(leasable_shards=None)
    for shard in canaries:
        lost = _results_of(shard).filter(reason=Reason.ENDED_WORKER)
        if keys := set(lost.values_list("task__key", flat=True)):
            lost.delete()
            # In the shard's order: the suite's order would reveal which hidden request is which task.
            add_shards(evaluation=evaluation, shards=[[key for key in shard.task_keys if key in keys]])
    explain(evaluation.pk, reason=EvaluationReason.RUNNING)


def _stop_broken(evaluation: Evaluation, *, last: TaskResult | None) -> None:
    """Fail an evaluation whose planner is broken; with scores from before it was resumed, leave it to its owner."""
    ended_workers = last is not None and last.reason == Reason.ENDED_WORKER
    if evaluation.results.filter(outcome=Outcome.SCORED).exists():
        reason = Reason.WORKER_LOST if ended_workers else Reason.ENDPOINT_UNAVAILABLE
        unreachable.leave_to_owner(evaluation=evaluation, reason=reason, why=_text_of(last))
        enqueue_reconcile(evaluation.pk)
        return
    advance(
        evaluation,
        target=EvaluationState.FAILED,
        reason=EvaluationReason.CANARY_ENDED_WORKERS if ended_workers else EvaluationReason.CANARY_FAILED,
        facts={"detail": _text_of(last)},
    )
    end_attempts_of(evaluation_id=evaluation.pk, target=AttemptState.CANCELLED)
    enqueue_stop(evaluation.pk)


def _results_of(shard: Shard) -> QuerySet[TaskResult]:
    return TaskResult.objects.filter(evaluation=shard.evaluation_id, task__key__in=shard.task_keys)


def _text_of(result: TaskResult | None) -> str:
    return "" if result is None else result.reason_text[:1000]
