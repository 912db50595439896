"""Which shard a worker gets: the next one in fair order (`turns.py`) that nobody else is taking at this moment."""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Count, F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce, Now

from gpu_jobs.contract import Phase
from leaderboard.evaluations import deadlines, transitions
from leaderboard.evaluations.models import Attempt, Evaluation, EvaluationState, Shard, ShardState, Submission
from leaderboard.evaluations.reasons import EvaluationReason
from leaderboard.evaluations.states import advance, explain, lease_shard
from leaderboard.platform.compiled_queries import CompiledQuery
from leaderboard.queue.leasing.evaluation_locks import NEEDED_OF_A_LEASE, lock_evaluation
from leaderboard.queue.leasing.turn_statement import Pick
from leaderboard.queue.leasing.turns import ALL_SHARDS, Wanted, lock_first
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


@dataclass(frozen=True, slots=True, kw_only=True)
class NextShard:
    """The shard that a worker gets next, and how it takes it."""

    worker: str
    wanted: Wanted

    def take(self, *, token: str) -> Lease | None:
        """Lease the next shard, past evaluations that others are changing; wait for one only if there is no other.

        Args:
            token: of the new attempt; empty: one is made.

        Raises:
            IntegrityError: there is an attempt with this token.
        """
        for _ in range(_LOOKS):
            due, found = self._lease_first(pick=Pick.FIRST_OF_EACH_USER, token=token)
            if found is not None or not due:
                return found
            _, found = self._lease_first(pick=Pick.EVERY, token=token)
            if found := found or self._lease_when_free(due[0], token=token):
                return found
        return None

    def _lease_first(self, *, pick: Pick, token: str) -> tuple[list[UUID], Lease | None]:
        """What is due, in order, and the lease of the first evaluation that nobody else has locked."""
        with transaction.atomic():
            turn = lock_first(self.wanted, pick=pick, most=_PASSED_OVER)
            return turn.ordered, None if turn.locked is None else self._take(turn.locked, token=token)

    def _lease_when_free(self, evaluation_id: UUID, *, token: str) -> Lease | None:
        with transaction.atomic():
            return self._take(lock_evaluation(evaluation_id).pk, token=token)

    def _take(self, evaluation_id: UUID, *, token: str) -> Lease | None:
        """Lease the next shard of an evaluation that is locked, so that a cancellation either sees this attempt or is
        seen here."""
        shard = _next_shard(evaluation_id)
        if shard is None:
            return None
        evaluation = shard.evaluation
        # A shard that nobody has had has no results.
        tasks = remaining_tasks(shard) if shard.attempts_so_far else list(shard.task_keys)  # type: ignore[attr-defined]  # annotated by `_next_shard`
        allowed = deadlines.allowances(evaluation=evaluation, tasks=len(tasks))
        attempt, token = _attempt(
            shard=shard,
            submission=evaluation.submission,
            worker=self.worker,
            token=token,
            allowances=allowed,
            pool=self.wanted.pool,
        )
        if evaluation.state != EvaluationState.RUNNING:
            advance(evaluation, target=EvaluationState.RUNNING, reason=_working(evaluation))
        elif evaluation.reason not in {EvaluationReason.SECOND_CANARY, _working(evaluation)}:
            # Whatever was wrong with an earlier worker is over.
            explain(evaluation.pk, reason=_working(evaluation))
        return Lease(attempt=attempt, evaluation=evaluation, tasks=tasks, token=token)


def _working(evaluation: Evaluation) -> EvaluationReason:
    return EvaluationReason.RUNNING if evaluation.leasable_shards is None else EvaluationReason.CANARY


def _next_shard(evaluation_id: UUID) -> Shard | None:
    """The next shard of an evaluation that may be leased now, locked, with the time and the number of its attempts
    until now. The evaluation is read with it, and as it is now: an earlier statement has locked it."""
    return _NEXT_SHARD.first(evaluation=evaluation_id, tries=settings.SHARD_TRIES)


def _due_shards(evaluation: UUID, tries: int) -> QuerySet[Shard]:
    number = Attempt.objects.filter(shard=OuterRef("pk")).order_by().values("shard").annotate(count=Count("pk"))
    due = Shard.objects.filter(
        evaluation=evaluation,
        evaluation__state__in=transitions.LEASABLE,
        state=ShardState.PENDING,
        available_at__lte=Now(),
        tries__lt=tries,
        number__lt=Coalesce(F("evaluation__leasable_shards"), ALL_SHARDS),
    )
    related = due.select_related(*(f"evaluation__{name}" for name in NEEDED_OF_A_LEASE)).order_by("number")
    locked = related.select_for_update(skip_locked=True, of=("self",))
    return locked.annotate(now=Now(), attempts_so_far=Subquery(number.values("count")))


_NEXT_SHARD = CompiledQuery(_due_shards, evaluation=UUID, tries=int)


def _attempt(
    *,
    shard: Shard,
    submission: Submission,
    worker: str,
    token: str = "",
    allowances: Mapping[str, int] | None = None,
    pool: Sequence[str] = (),
) -> tuple[Attempt, str]:
    """Lease a shard that came from `_next_shard`. Without a token from the worker a new one is made.

    Raises:
        IntegrityError: there is an attempt with this token.
    """
    token = token or secrets.token_urlsafe(32)
    now = shard.now  # type: ignore[attr-defined]  # annotated by `_next_shard`
    attempt = Attempt(
        shard=shard,
        user_id=submission.submitted_by_id,
        team_id=submission.team_id,
        number=(shard.attempts_so_far or 0) + 1,  # type: ignore[attr-defined]  # annotated by `_next_shard`
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
    return attempt, token
