"""Shards are leased to workers, kept by heartbeats, and end with the attempt.

Whoever changes more than one row of an evaluation locks the evaluation first (`lock_evaluation`), then its shards and
attempts: with one order for all, no two transactions wait for each other.
"""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Case, Count, Exists, F, FloatField, OuterRef, Q, QuerySet, Value, When
from django.db.models.functions import Cast
from django.utils import timezone

from leaderboard.evaluations import canary, transitions
from leaderboard.evaluations.models import (
    Attempt,
    AttemptState,
    Evaluation,
    EvaluationState,
    Shard,
    ShardState,
    TaskResult,
)
from leaderboard.evaluations.queueing import enqueue_reconcile
from leaderboard.evaluations.reasons import EvaluationReason
from leaderboard.evaluations.states import advance, end_attempt, end_attempts_of, explain, move_shard
from leaderboard.evaluations.stopping import enqueue_stop

_LONGEST_WAIT = timedelta(seconds=60)
_REFUSED_WAIT = timedelta(seconds=30)
_LOOKS = 5
"""How often a worker looks for another shard when others were faster."""


class GivenUp(StrEnum):
    """How a worker ends an attempt without having finished it."""

    RELEASED = "released"
    """It was told to stop. Does not count as a try."""
    REFUSED = "refused"
    """It cannot work on this evaluation, because its profile differs. Does not count as a try."""
    FAILED = "failed"
    """It ran into an error. Counts as a try."""


class AttemptEndedError(Exception):
    """The attempt is not live any more; nothing was changed. `state` says how it ended."""

    def __init__(self, state: AttemptState) -> None:
        self.state = state
        super().__init__(f"this attempt is {state.label.lower()}: what it sends changes nothing any more")


class IncompleteError(Exception):
    """A worker reported an attempt as completed, but some of its tasks have no result."""

    def __init__(self, missing: list[str]) -> None:
        self.missing = missing
        super().__init__(f"tasks without a result: {', '.join(missing)}; post them first, or fail the attempt")


@dataclass(frozen=True, slots=True)
class Lease:
    """A shard given to a worker. The token is told once and only its hash is kept."""

    attempt: Attempt
    evaluation: Evaluation
    tasks: list[str]
    token: str


def hash_token(token: str) -> str:
    """What is stored of an attempt's token; the token has 256 random bits, so that no salt is needed."""
    return hashlib.sha256(token.encode()).hexdigest()


def lease(
    *, worker: str, suites: Sequence[str] | None = None, evaluation_id: UUID | None = None, scope: Q | None = None
) -> Lease | None:
    """Lease the shard that is due next among those in `scope`, or None if there is none.

    Fair order: the user who has had the fewest leases for their weight, then priority, then the oldest evaluation, then
    the shard's number.

    Before: nothing; many workers may call at once.
    After: the shard is `leased`, has exactly one live attempt, and its evaluation is `running`; or nothing changed.
    """
    for _ in range(_LOOKS):
        due = next_evaluation(suites=suites, evaluation_id=evaluation_id, scope=scope)
        if due is None:
            return None
        if found := _lease_of(evaluation_id=due, worker=worker):
            return found
    return None


def _lease_of(*, evaluation_id: UUID, worker: str) -> Lease | None:
    """Lease the next shard of this evaluation, if there still is one."""
    with transaction.atomic():
        # Locked so that a cancellation either sees this attempt or is seen here.
        evaluation = lock_evaluation(evaluation_id)
        shard = _next_shard(evaluation_id)
        if shard is None:
            return None
        attempt, token = _attempt(shard=shard, worker=worker)
        tasks = remaining_tasks(shard)
        if evaluation.state == EvaluationState.LAUNCHING:
            advance(
                evaluation_id=evaluation.pk,
                source=EvaluationState.LAUNCHING,
                attempt=evaluation.attempt,
                target=EvaluationState.RUNNING,
                reason=_working(evaluation),
            )
        elif evaluation.reason != EvaluationReason.SECOND_CANARY:
            # Whatever was wrong with an earlier worker is over.
            explain(evaluation_id=evaluation.pk, source=EvaluationState.RUNNING, reason=_working(evaluation))
    evaluation = Evaluation.objects.select_related("suite", "submission__planner").get(pk=evaluation.pk)
    return Lease(attempt=attempt, evaluation=evaluation, tasks=tasks, token=token)


def _working(evaluation: Evaluation) -> EvaluationReason:
    return EvaluationReason.RUNNING if evaluation.leasable_shards is None else EvaluationReason.CANARY


def lock_evaluation(evaluation_id: UUID) -> Evaluation:
    """The evaluation, locked until the end of the transaction: before any of its shards and attempts."""
    return Evaluation.objects.select_for_update(no_key=True).get(pk=evaluation_id)


def next_evaluation(*, suites: Sequence[str] | None, evaluation_id: UUID | None, scope: Q | None = None) -> UUID | None:
    """The evaluation whose turn it is, among those with a shard that may be leased now; None if there is none.

    `scope` is a condition on evaluations: which of them the worker may work on.

    What a user has had are the leases that live and those of the last while. Live ones alone would say nothing where
    there are fewer workers than users: nobody has any at the moment at which a worker asks.
    """
    due = Evaluation.objects.filter(Exists(_due_shards(OuterRef("pk"))), state__in=transitions.LEASABLE)
    due = due.filter(scope or Q())
    if suites is not None:
        due = due.filter(suite__slug__in=suites)
    if evaluation_id is not None:
        due = due.filter(pk=evaluation_id)
    share = _leases_had() / Cast("submission__submitted_by__queue_weight", FloatField())
    ordered = due.annotate(share=share).order_by("share", "-priority", "created", "pk")
    return ordered.values_list("pk", flat=True).first()


def _leases_had() -> Case:
    """How many leases an evaluation's user has had.

    Counted once, before: PostgreSQL would run a subquery again for every evaluation that waits.
    """
    user = "shard__evaluation__submission__submitted_by"
    since = timezone.now() - timedelta(seconds=settings.FAIR_SHARE_SECONDS)
    leases = Attempt.objects.filter(Q(state=AttemptState.LIVE) | Q(leased_at__gte=since))
    counts = leases.order_by().values_list(user).annotate(count=Count("pk"))
    had = (When(submission__submitted_by=owner, then=Value(float(count))) for owner, count in counts)
    return Case(*had, default=Value(0.0), output_field=FloatField())


def _due_shards(evaluation_id: UUID | OuterRef) -> QuerySet[Shard]:
    """Shards of an evaluation that may be leased now."""
    return Shard.objects.filter(
        Q(evaluation__leasable_shards=None) | Q(number__lt=F("evaluation__leasable_shards")),
        evaluation=evaluation_id,
        evaluation__state__in=transitions.LEASABLE,
        state=ShardState.PENDING,
        available_at__lte=timezone.now(),
        tries__lt=settings.SHARD_TRIES,
    )


def _next_shard(evaluation_id: UUID) -> Shard | None:
    return _due_shards(evaluation_id).select_for_update(skip_locked=True, of=("self",)).order_by("number").first()


def _attempt(*, shard: Shard, worker: str) -> tuple[Attempt, str]:
    token = secrets.token_urlsafe(32)
    now = timezone.now()
    tries = shard.tries
    moved = move_shard(
        shard_id=shard.pk, source=ShardState.PENDING, target=ShardState.LEASED, tries=tries, tries_after=tries + 1
    )
    assert moved, "the shard is locked"
    attempt = Attempt.objects.create(
        shard=shard,
        number=shard.attempts.count() + 1,
        worker=worker,
        token_hash=hash_token(token),
        leased_at=now,
        expires_at=now + timedelta(seconds=settings.LEASE_SECONDS),
    )
    return attempt, token


def remaining_tasks(shard: Shard) -> list[str]:
    """The shard's tasks that have no result yet, in order."""
    done = set(
        TaskResult.objects.filter(evaluation=shard.evaluation_id, task__key__in=shard.task_keys).values_list(
            "task__key", flat=True
        )
    )
    return [key for key in shard.task_keys if key not in done]


def heartbeat(attempt_id: UUID) -> None:
    """Keep an attempt alive for another lease.

    Raises:
        AttemptEndedError: it is not live.
    """
    expires = timezone.now() + timedelta(seconds=settings.LEASE_SECONDS)
    if not Attempt.objects.filter(pk=attempt_id, state=AttemptState.LIVE).update(expires_at=expires):
        raise AttemptEndedError(AttemptState(Attempt.objects.values_list("state", flat=True).get(pk=attempt_id)))


def locked_attempt(attempt_id: UUID) -> Attempt:
    """The attempt, locked after its evaluation until the end of the transaction: it stays live while it is changed.

    Raises:
        AttemptEndedError: it is not live.
    """
    lock_evaluation(Attempt.objects.values_list("shard__evaluation_id", flat=True).get(pk=attempt_id))
    attempt = Attempt.objects.select_related("shard").select_for_update(of=("self",)).get(pk=attempt_id)
    if attempt.state != AttemptState.LIVE:
        raise AttemptEndedError(AttemptState(attempt.state))
    return attempt


def complete(attempt_id: UUID) -> None:
    """End an attempt all of whose tasks have results.

    Before: the attempt is live.
    After: it is `completed`, its shard is `done`, and the reconciler is told. A canary that met an `infra_fault` is not
    done but waits for another try; one that is done has opened the other shards, or ended the evaluation.

    Raises:
        AttemptEndedError: it is not live.
        IncompleteError: a task has no result; nothing changed.
    """
    with transaction.atomic():
        attempt = locked_attempt(attempt_id)
        if missing := remaining_tasks(attempt.shard):
            raise IncompleteError(missing)
        end_attempt(attempt_id=attempt.pk, target=AttemptState.COMPLETED)
        if canary.ran_into_infra_fault(attempt.shard):
            canary.forget_faults(attempt.shard)
            _free_shard(attempt.shard, wait=_wait_after(attempt.shard), counts=True)
        else:
            _move_leased(attempt.shard, target=ShardState.DONE)
            canary.settle(attempt.shard.evaluation)
        enqueue_reconcile(attempt.shard.evaluation_id)


def give_up(*, attempt_id: UUID, how: GivenUp, detail: str) -> None:
    """End an attempt that its worker cannot finish.

    Before: the attempt is live.
    After: it is `failed`; its shard can be leased again, at once if the worker was told to stop, else after a while.

    Raises:
        AttemptEndedError: it is not live.
    """
    with transaction.atomic():
        attempt = locked_attempt(attempt_id)
        end_attempt(attempt_id=attempt.pk, target=AttemptState.FAILED, reason=f"{how}: {detail}"[:2000])
        wait = {
            GivenUp.RELEASED: timedelta(),
            GivenUp.REFUSED: _REFUSED_WAIT,
            GivenUp.FAILED: _wait_after(attempt.shard),
        }[how]
        _free_shard(attempt.shard, wait=wait, counts=how is GivenUp.FAILED)
        if how is not GivenUp.RELEASED:
            refused = how is GivenUp.REFUSED
            explain(
                evaluation_id=attempt.shard.evaluation_id,
                source=EvaluationState.RUNNING,
                reason=EvaluationReason.PROFILE_MISMATCH if refused else EvaluationReason.WORKER_FAILED,
                facts={"detail": detail[:300]},
            )
        enqueue_reconcile(attempt.shard.evaluation_id)


def lose(*, attempt_id: UUID, detail: str) -> bool:
    """Take a live attempt from a worker that is gone.

    Before: nothing; the attempt may have ended meanwhile.
    After: it is `lost` and its shard can be leased at once, with the tasks that have no result (True); or it had
    ended and nothing changed (False).
    """
    with transaction.atomic():
        try:
            attempt = locked_attempt(attempt_id)
        except AttemptEndedError:
            return False
        end_attempt(attempt_id=attempt.pk, target=AttemptState.LOST, reason=detail)
        _free_shard(attempt.shard, wait=timedelta(), counts=True)
        explain(
            evaluation_id=attempt.shard.evaluation_id,
            source=EvaluationState.RUNNING,
            reason=EvaluationReason.WORKER_LOST,
            facts={"detail": detail},
        )
    return True


def cancel_attempts(evaluation_id: UUID) -> None:
    """End every live attempt of an evaluation that was cancelled or failed, and have its workers stopped."""
    enqueue_stop(evaluation_id)
    end_attempts_of(evaluation_id=evaluation_id, target=AttemptState.CANCELLED)


def _free_shard(shard: Shard, *, wait: timedelta, counts: bool) -> None:
    """Let a leased shard be leased again after `wait`; this try is forgotten unless it counts."""
    tries = shard.tries if counts else shard.tries - 1
    _move_leased(shard, target=ShardState.PENDING, available_at=timezone.now() + wait, tries_after=tries)


def _wait_after(shard: Shard) -> timedelta:
    return min(timedelta(seconds=2**shard.tries), _LONGEST_WAIT)


def _move_leased(shard: Shard, *, target: ShardState, **fields: Any) -> None:
    """Move the shard of a live attempt, which is locked: only that attempt can have leased it."""
    moved = move_shard(shard_id=shard.pk, source=ShardState.LEASED, target=target, tries=shard.tries, **fields)
    assert moved, f"shard {shard} had a live attempt and was not leased"
