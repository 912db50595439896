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
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Count, F, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from leaderboard.evaluations import transitions
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
from leaderboard.evaluations.states import advance, explain
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

    Fair order: the user with the fewest live leases first, then the oldest evaluation, then the shard's number.

    Before: nothing; many workers may call at once.
    After: the shard is `leased`, has exactly one live attempt, and its evaluation is `running`; or nothing changed.
    """
    for _ in range(_LOOKS):
        found_due = _due(suites=suites, evaluation_id=evaluation_id).filter(scope or Q())
        due = found_due.values_list("evaluation_id", flat=True).first()
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
        shard = _next_shard(suites=None, evaluation_id=evaluation_id)
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
                reason=EvaluationReason.RUNNING,
            )
        else:
            # Whatever was wrong with an earlier worker is over.
            explain(evaluation_id=evaluation.pk, source=EvaluationState.RUNNING, reason=EvaluationReason.RUNNING)
    evaluation = Evaluation.objects.select_related("suite", "submission__planner").get(pk=evaluation.pk)
    return Lease(attempt=attempt, evaluation=evaluation, tasks=tasks, token=token)


def lock_evaluation(evaluation_id: UUID) -> Evaluation:
    """The evaluation, locked until the end of the transaction: before any of its shards and attempts."""
    return Evaluation.objects.select_for_update(no_key=True).get(pk=evaluation_id)


def _next_shard(*, suites: Sequence[str] | None, evaluation_id: UUID | None) -> Shard | None:
    due = _due(suites=suites, evaluation_id=evaluation_id)
    return due.select_for_update(skip_locked=True, of=("self",)).first()


def _due(*, suites: Sequence[str] | None, evaluation_id: UUID | None) -> QuerySet[Shard]:
    """Shards that may be leased now, in fair order."""
    due: QuerySet[Shard] = Shard.objects.filter(
        state=ShardState.PENDING,
        available_at__lte=timezone.now(),
        tries__lt=settings.SHARD_TRIES,
        evaluation__state__in=transitions.LEASABLE,
    )
    if suites is not None:
        due = due.filter(evaluation__suite__slug__in=suites)
    if evaluation_id is not None:
        due = due.filter(evaluation=evaluation_id)
    user = "shard__evaluation__submission__submitted_by"
    live_leases = (
        Attempt.objects.filter(state=AttemptState.LIVE, **{user: OuterRef("evaluation__submission__submitted_by")})
        .order_by()
        .values(user)
        .annotate(count=Count("pk"))
        .values("count")
    )
    return due.annotate(users_leases=Coalesce(Subquery(live_leases, output_field=IntegerField()), 0)).order_by(
        "users_leases", "evaluation__created", "evaluation_id", "number"
    )


def _attempt(*, shard: Shard, worker: str) -> tuple[Attempt, str]:
    token = secrets.token_urlsafe(32)
    now = timezone.now()
    shard.state = ShardState.LEASED
    shard.tries += 1
    shard.save(update_fields=["state", "tries"])
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
    After: it is `completed`, its shard is `done`, and the reconciler is told.

    Raises:
        AttemptEndedError: it is not live.
        IncompleteError: a task has no result; nothing changed.
    """
    with transaction.atomic():
        attempt = locked_attempt(attempt_id)
        if missing := remaining_tasks(attempt.shard):
            raise IncompleteError(missing)
        _end(attempt=attempt, state=AttemptState.COMPLETED, reason="")
        Shard.objects.filter(pk=attempt.shard_id).update(state=ShardState.DONE)
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
        _end(attempt=attempt, state=AttemptState.FAILED, reason=f"{how}: {detail}"[:2000])
        wait = {
            GivenUp.RELEASED: timedelta(),
            GivenUp.REFUSED: _REFUSED_WAIT,
            GivenUp.FAILED: min(timedelta(seconds=2**attempt.shard.tries), _LONGEST_WAIT),
        }[how]
        counted = 1 if how is GivenUp.FAILED else 0
        free_shard(shard_id=attempt.shard_id, wait=wait, uncount=1 - counted)
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
        _end(attempt=attempt, state=AttemptState.LOST, reason=detail)
        free_shard(shard_id=attempt.shard_id, wait=timedelta(), uncount=0)
        explain(
            evaluation_id=attempt.shard.evaluation_id,
            source=EvaluationState.RUNNING,
            reason=EvaluationReason.WORKER_LOST,
            facts={"detail": detail},
        )
    return True


def free_shard(*, shard_id: int, wait: timedelta, uncount: int) -> None:
    """Let a leased shard be leased again after `wait`, with `uncount` of its tries forgotten."""
    Shard.objects.filter(pk=shard_id, state=ShardState.LEASED).update(
        state=ShardState.PENDING, available_at=timezone.now() + wait, tries=F("tries") - uncount
    )


def cancel_attempts(evaluation_id: UUID) -> None:
    """End every live attempt of an evaluation that was cancelled or failed, and have its workers stopped."""
    enqueue_stop(evaluation_id)
    Attempt.objects.filter(shard__evaluation=evaluation_id, state=AttemptState.LIVE).update(
        state=AttemptState.CANCELLED, ended_at=timezone.now()
    )


def _end(*, attempt: Attempt, state: AttemptState, reason: str) -> None:
    attempt.state = state
    attempt.reason = reason
    attempt.ended_at = timezone.now()
    attempt.save(update_fields=["state", "reason", "ended_at"])
