"""Locks of the rows of an evaluation, held until the end of the transaction.

A transaction that changes several rows of an evaluation locks the evaluation first, then its shards and attempts. This
order prevents deadlocks.
"""

from uuid import UUID

from django.db.models import QuerySet

from leaderboard.evaluations.models import Attempt, AttemptState, Evaluation
from leaderboard.platform.compiled_queries import CompiledQuery
from leaderboard.platform.problems import ProblemError

NEEDED_OF_A_LEASE = "suite", "submission__planner__secret"
"""Relations that are read with an evaluation."""


class AttemptEndedError(ProblemError):
    """The attempt is no longer live; nothing was changed. `state` is its final state."""

    def __init__(self, state: AttemptState) -> None:
        self.state = state
        self.code = state.value
        super().__init__(f"this attempt is {state.label.lower()}: what it sends changes nothing any more")


def lock_evaluation(evaluation_id: UUID) -> Evaluation:
    """The evaluation, locked until the end of the transaction, before any of its shards and attempts."""
    locked = Evaluation.runs.select_related(*NEEDED_OF_A_LEASE).select_for_update(no_key=True, of=("self",))
    return locked.get(pk=evaluation_id)


def locked_attempt(attempt_id: UUID) -> Attempt:
    """The live attempt, locked after its evaluation until the end of the transaction.

    Its log is read with it, but not locked.

    Raises:
        AttemptEndedError: it is not live.
    """
    attempt = _LOCKED.first(attempt=attempt_id)
    if attempt is None:
        raise Attempt.DoesNotExist
    if attempt.state != AttemptState.LIVE:
        raise AttemptEndedError(AttemptState(attempt.state))
    return attempt


def _locked(attempt: UUID) -> QuerySet[Attempt]:
    needed = (f"shard__evaluation__{name}" for name in NEEDED_OF_A_LEASE)
    # PostgreSQL locks in the order of `of`, and returns the rows as of the end of the wait.
    in_order = "shard__evaluation", "shard", "self"
    attempts = Attempt.objects.select_related(*needed, "log").filter(pk=attempt)
    return attempts.select_for_update(no_key=True, of=in_order).order_by()


_LOCKED = CompiledQuery(_locked, attempt=UUID)
