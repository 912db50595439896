"""Leasing the next shard in fair order (`turns.py`) that no other worker is taking at this moment."""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Count, F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce, Now

from gpu_jobs.contract import Phase
from leaderboard.evaluations import deadlines, states
from leaderboard.evaluations.models import Attempt, Evaluation, EvaluationReason, EvaluationState, Shard, ShardState
from leaderboard.evaluations.states import advance, explain, lease_shard
from leaderboard.platform.compiled_queries import CompiledQuery
from leaderboard.queue.leasing.evaluation_locks import NEEDED_OF_A_LEASE, lock_evaluation
from leaderboard.queue.leasing.turns import ALL_SHARDS, LeaseFilter, Pick, turn
from leaderboard.queue.shards import remaining_tasks

_LOOKS = 5
"""How often a worker looks for another shard when others were faster."""
_PASSED_OVER = 32
"""How many evaluations a worker tries to lock without waiting, in fair order, before it waits for the first."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A shard leased to a worker. The token is returned once; only its hash is stored."""

    attempt: Attempt
    evaluation: Evaluation
    tasks: list[str]
    token: str


def hash_token(token: str) -> str:
    """What is stored of an attempt's token; the token has 256 random bits, so that no salt is needed."""
    return hashlib.sha256(token.encode()).hexdigest()


def lease_next(*, worker: str, evaluations: LeaseFilter, token: str) -> Lease | None:
    """Lease the next shard, past evaluations that other transactions hold; wait for one only if there is no other.

    Args:
        worker: its name.
        evaluations: that it may work on.
        token: of the new attempt; empty: one is made.

    Raises:
        IntegrityError: there is an attempt with this token.
    """

    def first(pick: Pick) -> tuple[list[UUID], Lease | None]:
        with transaction.atomic():
            due = turn(evaluations, pick=pick, most=_PASSED_OVER, lock=True)
            if due.locked is None:
                return due.ordered, None
            return due.ordered, _lease_of(due.locked, worker=worker, token=token, pool=evaluations.pool)

    for _ in range(_LOOKS):
        due, lease = first(Pick.FIRST_OF_EACH_USER)
        if lease is not None or not due:
            return lease
        _, lease = first(Pick.EVERY)
        if lease is None:
            with transaction.atomic():
                lock_evaluation(due[0])
                lease = _lease_of(due[0], worker=worker, token=token, pool=evaluations.pool)
        if lease is not None:
            return lease
    return None


def _lease_of(evaluation_id: UUID, *, worker: str, token: str, pool: Sequence[str]) -> Lease | None:
    """Lease the next shard of an evaluation that is locked, so that a cancellation either sees this attempt or is seen
    here. None if no shard is free."""
    shard = _next_shard(evaluation_id)
    if shard is None:
        return None
    evaluation, submission = shard.evaluation, shard.evaluation.submission
    now, attempts = shard.now, shard.attempts_so_far or 0  # type: ignore[attr-defined]  # annotated by the query
    # A shard without attempts has no results.
    tasks = remaining_tasks(shard) if attempts else list(shard.task_keys)
    allowances = deadlines.allowances(evaluation=evaluation, tasks=len(tasks))
    token = token or secrets.token_urlsafe(32)
    attempt = Attempt(
        shard=shard,
        user_id=submission.submitted_by_id,
        team_id=submission.team_id,
        number=attempts + 1,
        worker=worker,
        pool=list(pool),
        token_hash=hash_token(token),
        leased_at=now,
        expires_at=now + timedelta(seconds=settings.LEASE_SECONDS),
        phase=Phase.PREPARING,
        loss="",
        allowances=allowances or {},
        stalls_at=now + timedelta(seconds=allowances[Phase.PREPARING]) if allowances else None,
    )
    moved = lease_shard(attempt=attempt, tries=shard.tries)
    assert moved, "the shard is locked"
    reason = EvaluationReason.RUNNING if evaluation.leasable_shards is None else EvaluationReason.CANARY
    if evaluation.state != EvaluationState.RUNNING:
        advance(evaluation, target=EvaluationState.RUNNING, reason=reason)
    elif evaluation.reason not in {EvaluationReason.SECOND_CANARY, reason}:
        # An earlier worker's problem is over.
        explain(evaluation.pk, reason=reason)
    return Lease(attempt=attempt, evaluation=evaluation, tasks=tasks, token=token)


def _next_shard(evaluation_id: UUID) -> Shard | None:
    """The next shard that may be leased now, locked, with the time and the number of its attempts. Its evaluation is
    read with it as it is now: an earlier statement has locked it."""
    return _NEXT_SHARD.first(evaluation=evaluation_id, tries=settings.SHARD_TRIES)


def _due_shards(evaluation: UUID, tries: int) -> QuerySet[Shard]:
    number = Attempt.objects.filter(shard=OuterRef("pk")).order_by().values("shard").annotate(count=Count("pk"))
    due = Shard.objects.filter(
        evaluation=evaluation,
        evaluation__state__in=states.LEASABLE,
        state=ShardState.PENDING,
        available_at__lte=Now(),
        tries__lt=tries,
        number__lt=Coalesce(F("evaluation__leasable_shards"), ALL_SHARDS),
    )
    related = due.select_related(*(f"evaluation__{name}" for name in NEEDED_OF_A_LEASE)).order_by("number")
    locked = related.select_for_update(skip_locked=True, of=("self",))
    return locked.annotate(now=Now(), attempts_so_far=Subquery(number.values("count")))


_NEXT_SHARD = CompiledQuery(_due_shards, evaluation=UUID, tries=int)
