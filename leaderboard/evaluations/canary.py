"""The canary: of a planner that may be broken one task runs first, alone, so that it costs seconds, not hours.

The first shards of such an evaluation hold one task each. Workers may take the first; what it comes to decides:

    its planner answered, whatever its plan is worth       the others follow
    its planner is broken as such (`BROKEN`)               the second runs; if that ends the same way, the evaluation
                                                           fails with what the planner answered, else the others follow
    infra_fault                                            it is tried again after a while, as any shard is; when it was
                                                           tried too often the fault stays, and the others follow

Bundled planners have no canary: they come with this release and cannot be away or speak another protocol. An evaluation
whose tasks fit into one shard has none either, since there is nothing to hold back.
"""

from collections.abc import Sequence
from enum import Enum, auto
from typing import NamedTuple

from django.conf import settings

from evaluator.records import Outcome, Reason
from leaderboard.evaluations import transitions
from leaderboard.evaluations.models import AttemptState, Evaluation, EvaluationState, Shard, ShardState, TaskResult
from leaderboard.evaluations.reasons import EvaluationReason
from leaderboard.evaluations.states import advance, end_attempts_of, explain
from leaderboard.evaluations.stopping import enqueue_stop
from leaderboard.planners.kinds import kind_of
from leaderboard.planners.models import Planner

CANARIES = 2

BROKEN = frozenset(
    {
        Reason.INVALID_RESPONSE,
        Reason.RESPONSE_TOO_LARGE,
        Reason.PLANNER_TIMEOUT,
        Reason.REFUSED_BY_ENDPOINT,
        Reason.ADDRESS_REFUSED,
        Reason.MODEL_UNUSABLE,
    }
)
"""Faults without an answer of the protocol. A plan that cannot be read, is invalid or too costly is an answer: a weak
planner gives some, and is measured by them. An endpoint that is away is an `infra_fault`."""


class Verdict(Enum):
    """What the canaries so far mean."""

    FAN_OUT = auto()
    ASK_AGAIN = auto()
    BROKEN = auto()


class Ending(NamedTuple):
    """How one task ended."""

    outcome: str
    reason: str


def judge(canaries: Sequence[Sequence[Ending]]) -> Verdict:
    """What it means that the canaries ended so, the first one first. Pure."""
    ways = [_way(endings) for endings in canaries]
    if None in ways or len(set(ways)) > 1:
        return Verdict.FAN_OUT
    return Verdict.BROKEN if len(ways) >= CANARIES else Verdict.ASK_AGAIN


def _way(endings: Sequence[Ending]) -> str | None:
    """The reason why the planner is broken as such, if all tasks of a canary say so."""
    reasons = {ending.reason for ending in endings}
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


def ran_into_infra_fault(shard: Shard) -> bool:
    """Whether this is a canary that says nothing yet, because of an `infra_fault`, and may be tried again."""
    leasable = shard.evaluation.leasable_shards
    is_canary = leasable is not None and shard.number < leasable
    return is_canary and shard.tries < settings.SHARD_TRIES and _faults(shard).exists()


def forget_faults(shard: Shard) -> None:
    """Delete the `infra_fault` results of a canary, which is about to be tried again, and tell its owner."""
    detail = _faults(shard).values_list("reason_text", flat=True).first() or ""
    _faults(shard).delete()
    explain(
        evaluation_id=shard.evaluation_id,
        source=EvaluationState.RUNNING,
        reason=EvaluationReason.CANARY_RETRY,
        facts={"detail": detail[:300]},
    )


def _faults(shard: Shard):  # noqa: ANN202 - a queryset of the generic manager
    return TaskResult.objects.filter(
        evaluation=shard.evaluation_id, task__key__in=shard.task_keys, outcome=Outcome.INFRA_FAULT
    )


def settle(evaluation: Evaluation) -> bool:
    """Act on what the canaries came to.

    Before: the evaluation is locked; nothing else is assumed.
    After: its other shards may be leased, or the second canary, or it is `failed` (True); or there was nothing to
    decide and nothing changed (False).
    """
    leasable = evaluation.leasable_shards
    if leasable is None or evaluation.state not in transitions.LEASABLE:
        return False
    canaries = list(Shard.objects.filter(evaluation=evaluation, number__lt=leasable).order_by("number"))
    if any(shard.state != ShardState.DONE for shard in canaries):
        return False
    results = [_results(shard) for shard in canaries]
    last = results[-1][0] if results and results[-1] else None
    match judge([[Ending(row.outcome, row.reason) for row in rows] for rows in results]):
        case Verdict.FAN_OUT:
            _open(evaluation, shards=None)
            explain(evaluation_id=evaluation.pk, source=EvaluationState.RUNNING, reason=EvaluationReason.RUNNING)
        case Verdict.ASK_AGAIN:
            _open(evaluation, shards=leasable + 1)
            explain(
                evaluation_id=evaluation.pk,
                source=EvaluationState.RUNNING,
                reason=EvaluationReason.SECOND_CANARY,
                facts={"detail": _said(last)},
            )
        case Verdict.BROKEN:
            advance(
                evaluation_id=evaluation.pk,
                source=EvaluationState(evaluation.state),
                attempt=evaluation.attempt,
                target=EvaluationState.FAILED,
                reason=EvaluationReason.CANARY_FAILED,
                facts={"detail": _said(last)},
            )
            end_attempts_of(evaluation_id=evaluation.pk, target=AttemptState.CANCELLED)
            enqueue_stop(evaluation.pk)
    return True


def _results(shard: Shard) -> list[TaskResult]:
    found = TaskResult.objects.filter(evaluation=shard.evaluation_id, task__key__in=shard.task_keys)
    return list(found.order_by("task__position"))


def _open(evaluation: Evaluation, *, shards: int | None) -> None:
    Evaluation.objects.filter(pk=evaluation.pk).update(leasable_shards=shards)


def _said(result: TaskResult | None) -> str:
    return "" if result is None else result.reason_text[:1000]
