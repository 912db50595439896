"""Leasing the next free shard in fair order (`turns.py`)."""

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
"""Searches for a shard when other workers were faster."""
_PASSED_OVER = 32
"""Evaluations that a worker tries to lock without waiting, in fair order, before it waits for the first."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A shard leased to a worker. The token is returned once; only its hash is stored."""

    attempt: Attempt
    evaluation: Evaluation
    tasks: list[str]
    token: str


def hash_token(token: str) -> str:
    """Stored digest of a token. Tokens have 256 random bits, so that no salt is needed."""
    return hashlib.sha256(token.encode()).hexdigest()


def lease_next(*, worker: str, evaluations: LeaseFilter, token: str) -> Lease | None:
    """Lease the next shard. Skips locked evaluations, and waits for one only if there is no other.

    Args:
        worker: its name.
        evaluations: from which it may lease.
        token: of the new attempt; empty: a random one.

    Raises:
        IntegrityError: an attempt has this token.
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
    """Lease the next shard of a locked evaluation; None if no shard is free. Because of the lock, a cancellation either
    sees this attempt or is seen here."""
    # Reads the evaluation as well: an earlier statement has locked it.
    shard = _NEXT_SHARD.first(evaluation=evaluation_id, tries=settings.SHARD_TRIES)
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
        # The reason is an earlier worker's.
        explain(evaluation.pk, reason=reason)
    return Lease(attempt=attempt, evaluation=evaluation, tasks=tasks, token=token)


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
