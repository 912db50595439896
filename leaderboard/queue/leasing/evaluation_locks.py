"""Locks of the rows of an evaluation, held until the end of the transaction.

A transaction that changes several rows of an evaluation locks the evaluation first, then its shards and attempts. Since
all use this order, no two transactions wait for each other.
"""

from collections.abc import Sequence
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db.models import Func, UUIDField, Value

from leaderboard.evaluations.models import Attempt, AttemptState, Evaluation
from leaderboard.site.problems import ProblemError

_NEEDED_OF_A_LEASE = "suite", "submission__planner__secret"


class AttemptEndedError(ProblemError):
    """The attempt is not live any more; nothing was changed. `state` says how it ended."""

    def __init__(self, state: AttemptState) -> None:
        self.state = state
        self.code = state.value
        super().__init__(f"this attempt is {state.label.lower()}: what it sends changes nothing any more")


def lock_evaluation(evaluation_id: UUID) -> Evaluation:
    """The evaluation, locked until the end of the transaction: before any of its shards and attempts."""
    found = Evaluation.objects.select_related(*_NEEDED_OF_A_LEASE).select_for_update(no_key=True, of=("self",))
    return found.get(pk=evaluation_id)


def lock_first(evaluation_ids: Sequence[UUID]) -> Evaluation | None:
    """The first of these evaluations that nobody else has locked, locked as by `lock_evaluation`."""
    ordered = Value(list(evaluation_ids), output_field=ArrayField(UUIDField()))
    turn = Func(ordered, "pk", function="array_position")
    found = Evaluation.objects.select_related(*_NEEDED_OF_A_LEASE).filter(pk__in=evaluation_ids).order_by(turn)
    return found.select_for_update(no_key=True, skip_locked=True, of=("self",)).first()


def locked_attempt(attempt_id: UUID) -> Attempt:
    """The attempt, locked after its evaluation until the end of the transaction: it stays live while it is changed.

    Raises:
        AttemptEndedError: it is not live.
    """
    needed = (f"shard__evaluation__{name}" for name in _NEEDED_OF_A_LEASE)
    # PostgreSQL locks in the order of `of`, and returns the locked rows as they are after the wait.
    in_order = "shard__evaluation", "shard", "self"
    found = Attempt.objects.select_related(*needed).select_for_update(no_key=True, of=in_order)
    attempt = found.get(pk=attempt_id)
    if attempt.state != AttemptState.LIVE:
        raise AttemptEndedError(AttemptState(attempt.state))
    return attempt
