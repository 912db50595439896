"""The canary: of a planner that may be broken one task runs first, alone, so that it costs seconds, not hours.

The first shards of such an evaluation hold one task each. Workers may take the first; what it comes to decides:

    its planner answered, whatever its plan is worth       the others follow
    its planner is broken as such (`BROKEN`)               the second runs; if that ends the same way, the evaluation
                                                           fails with what the planner answered, else the others follow
    its worker was lost                                    the same; if the others follow, the task runs again with them
    the planner cannot be reached (`unreachable.AWAY`)     it is asked once more after a while; if it still cannot be
                                                           reached, nobody asks it for the others, and the evaluation
                                                           waits for its owner
    another infra_fault                                    it is tried again after a while, as any shard is; when it was
                                                           tried too often the fault stays, and the others follow

An evaluation that is resumed has a canary again. Scores from before are not lost by that: where the new canary says
that the planner is broken, the evaluation waits for its owner again.

Bundled planners have no canary: they come with this release and cannot be away or speak another protocol. An evaluation
whose tasks fit into one shard has none either, since there is nothing to hold back.
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
from leaderboard.planners.kinds import kind_of
from leaderboard.planners.models import Planner
from leaderboard.queue import unreachable
from leaderboard.queue.shards import add_shards, end_shard
from leaderboard.queue.stopping import enqueue_reconcile, enqueue_stop
from leaderboard.queue.unreachable import AWAY

CANARIES = 2

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
"""Faults without an answer of the protocol. A plan that cannot be read, is invalid or too costly is an answer: a weak
planner gives some, and is measured by them. An endpoint that is away is an `infra_fault`."""
AWAY_TRIES = 2
"""How often a canary whose planner cannot be reached is tried."""
_AWAY_REST = timedelta(seconds=20)
"""Between these tries: about as long as a server takes to restart."""


class Verdict(Enum):
    """What the canaries so far mean."""

    FAN_OUT = auto()
    ASK_AGAIN = auto()
    BROKEN = auto()
    AWAY = auto()


class Ending(NamedTuple):
    """How one task ended."""

    outcome: str
    reason: str


def judge(canaries: Sequence[Sequence[Ending]]) -> Verdict:
    """What it means that the canaries ended so, the first one first. Pure."""
    last = canaries[-1] if canaries else ()
    if last and all(ending.outcome == Outcome.INFRA_FAULT and ending.reason in AWAY for ending in last):
        return Verdict.AWAY
    ways = [_way(endings) for endings in canaries]
    if None in ways or len(set(ways)) > 1:
        return Verdict.FAN_OUT
    return Verdict.BROKEN if len(ways) >= CANARIES else Verdict.ASK_AGAIN


def _way(endings: Sequence[Ending]) -> str | None:
    """The reason why the planner is broken as such, if all tasks of a canary say so."""
    reasons = {ending.reason for ending in endings}
    if Reason.ENDED_WORKER in reasons:
        # The tasks before it had answers, and the worker is gone all the same.
        return Reason.ENDED_WORKER
    if len(reasons) != 1 or any(ending.outcome != Outcome.PLANNER_FAULT for ending in endings):
        return None
    (reason,) = reasons
    return reason if reason in BROKEN else None


def split(*, planner: Planner, keys: Sequence[str], size: int) -> tuple[list[list[str]], int | None]:
    """The tasks of a new evaluation by shard, and how many of the shards may be leased at first (None: all)."""
    each = settings.CANARY_TASKS
    first = CANARIES * each
    if not each or not kind_of(planner).has_canary or len(keys) <= max(size, first):
        return chunks(keys, size=size), None
    return chunks(keys[:first], size=each) + chunks(keys[first:], size=size), 1


def chunks(keys: Sequence[str], *, size: int) -> list[list[str]]:
    """The keys in lists of at most `size`."""
    return [list(keys[start : start + size]) for start in range(0, len(keys), size)]


def is_canary(shard: Shard) -> bool:
    """Whether the others wait for what this shard comes to."""
    evaluation = shard.evaluation
    leasable = evaluation.leasable_shards
    return leasable is not None and evaluation.canaries_from <= shard.number < leasable


def ran_into_infra_fault(shard: Shard) -> bool:
    """Whether this is a canary that says nothing yet, because of an `infra_fault`, and may be tried again."""
    if not is_canary(shard):
        return False
    reasons = set(_faults(shard).values_list("reason", flat=True))
    tries = min(AWAY_TRIES, settings.SHARD_TRIES) if reasons and reasons <= AWAY else settings.SHARD_TRIES
    return bool(reasons) and shard.tries < tries


def rest_after_fault(shard: Shard) -> timedelta:
    """How long a canary rests at least that ran into an `infra_fault`."""
    return _AWAY_REST if _faults(shard).filter(reason__in=AWAY).exists() else timedelta()


def end_lost(shard: Shard, *, why: str) -> None:
    """End a canary whose worker was lost, because of `why`, and act on what that means.

    Before: its evaluation and the shard are locked; the shard is leased, and its attempt has just been lost.
    After: it is `done`, its open tasks are faults of the planner, and the canaries are settled.
    """
    text = f"Its worker was lost: {why}."
    end_shard(
        shard=shard, evaluation=shard.evaluation, outcome=Outcome.PLANNER_FAULT, reason=Reason.ENDED_WORKER, text=text
    )
    act_on_canaries(shard.evaluation)


def forget_faults(shard: Shard) -> None:
    """Delete the `infra_fault` results of a canary, which is about to be tried again, and tell its owner."""
    detail = _faults(shard).values_list("reason_text", flat=True).first() or ""
    _faults(shard).delete()
    explain(shard.evaluation_id, reason=EvaluationReason.CANARY_RETRY, detail=detail[:300])


def _faults(shard: Shard) -> QuerySet[TaskResult]:
    return _results_of(shard).filter(outcome=Outcome.INFRA_FAULT)


def act_on_canaries(evaluation: Evaluation) -> bool:
    """Act on what the canaries came to.

    Before: the evaluation is locked; nothing else is assumed.
    After: its other shards may be leased, or the second canary, or it is `failed` (True); or there was nothing to
    decide and nothing changed (False).
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
            _open(evaluation, shards=leasable + 1)
            explain(evaluation.pk, reason=EvaluationReason.SECOND_CANARY, detail=_said(last))
        case Verdict.AWAY:
            assert last is not None, "somebody could not be reached"
            unreachable.leave_to_owner(evaluation=evaluation, reason=Reason(last.reason), why=_said(last))
            enqueue_reconcile(evaluation.pk)
        case Verdict.BROKEN:
            _stop_broken(evaluation, last=last)
    return True


def _fan_out(evaluation: Evaluation, *, canaries: Sequence[Shard]) -> None:
    """Open all shards. A canary whose worker was lost once runs again with them: that proves nothing."""
    _open(evaluation, shards=None)
    for shard in canaries:
        lost = _results_of(shard).filter(reason=Reason.ENDED_WORKER)
        if keys := set(lost.values_list("task__key", flat=True)):
            lost.delete()
            # In the shard's order: that of the suite would tell which hidden request is which task.
            add_shards(evaluation=evaluation, shards=[[key for key in shard.task_keys if key in keys]])
    explain(evaluation.pk, reason=EvaluationReason.RUNNING)


def _stop_broken(evaluation: Evaluation, *, last: TaskResult | None) -> None:
    """Fail an evaluation whose planner is broken; one that has scores from before it was resumed waits instead."""
    ended_workers = last is not None and last.reason == Reason.ENDED_WORKER
    if evaluation.results.filter(outcome=Outcome.SCORED).exists():
        reason = Reason.WORKER_LOST if ended_workers else Reason.ENDPOINT_UNAVAILABLE
        unreachable.leave_to_owner(evaluation=evaluation, reason=reason, why=_said(last))
        enqueue_reconcile(evaluation.pk)
        return
    advance(
        evaluation,
        target=EvaluationState.FAILED,
        reason=EvaluationReason.CANARY_ENDED_WORKERS if ended_workers else EvaluationReason.CANARY_FAILED,
        facts={"detail": _said(last)},
    )
    end_attempts_of(evaluation_id=evaluation.pk, target=AttemptState.CANCELLED)
    enqueue_stop(evaluation.pk)


def _results_of(shard: Shard) -> QuerySet[TaskResult]:
    return TaskResult.objects.filter(evaluation=shard.evaluation_id, task__key__in=shard.task_keys)


def _open(evaluation: Evaluation, *, shards: int | None) -> None:
    Evaluation.runs.filter(pk=evaluation.pk).update(leasable_shards=shards)


def _said(result: TaskResult | None) -> str:
    return "" if result is None else result.reason_text[:1000]
