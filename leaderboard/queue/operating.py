"""Operators' actions on evaluations: requeue them and set their priority."""

from django.db import transaction
from django.db.models.functions import Now

from leaderboard.evaluations import states
from leaderboard.evaluations.models import Attempt, AttemptState, Evaluation, EvaluationState, Shard, ShardState
from leaderboard.evaluations.visibility import NotPossibleError
from leaderboard.people.models import User
from leaderboard.platform.audit import record
from leaderboard.platform.models import Action
from leaderboard.queue.leasing.evaluation_locks import lock_evaluation
from leaderboard.queue.leasing.leases import lose
from leaderboard.queue.stopping import enqueue_reconcile

LARGEST_PRIORITY = 1000


def requeue(evaluation: Evaluation, *, by: User | None = None) -> int:
    """Take an evaluation's tasks from their workers, to be leased again, and return the number of these workers.

    Before: it is neither final nor `on_hold`.
    After: none of its attempts is live, shards that waited for a retry are due at once, and a reconcile is requested.
    Posted results stay. Each lost attempt counts as a try, as for any lost worker.

    Raises:
        NotPossibleError: it is in another state; nothing was changed.
    """
    with transaction.atomic():
        current = lock_evaluation(evaluation.pk)
        if current.state in states.FINAL or current.state == EvaluationState.ON_HOLD:
            label = EvaluationState(current.state).label.lower()
            raise NotPossibleError(f"The evaluation is {label!r}; only an active evaluation can be requeued.")
        live = Attempt.objects.filter(shard__evaluation=current, state=AttemptState.LIVE).order_by("pk")
        taken = sum(lose(attempt_id=attempt.pk, detail="an operator had its tasks leased again") for attempt in live)
        waiting = Shard.objects.filter(evaluation=current, state=ShardState.PENDING)
        waiting.update(available_at=Now())
        record(
            by=by,
            action=Action.REQUEUED,
            target=current,
            label=current.in_words(),
            details={"state": current.state, "attempts": taken},
        )
        enqueue_reconcile(current.pk)
    return taken


def prioritise(evaluation: Evaluation, *, priority: int, by: User | None = None) -> None:
    """Set an evaluation's priority: among evaluations that fair share ranks equally, the highest goes first.

    Raises:
        ValueError: the priority is not in [-1000, 1000].
        NotPossibleError: the evaluation has ended; nothing was changed.
    """
    if not -LARGEST_PRIORITY <= priority <= LARGEST_PRIORITY:
        raise ValueError(f"Give a priority from {-LARGEST_PRIORITY} to {LARGEST_PRIORITY}.")
    with transaction.atomic():
        current = lock_evaluation(evaluation.pk)
        if current.state in states.FINAL:
            label = EvaluationState(current.state).label.lower()
            raise NotPossibleError(f"The evaluation is {label!r}; it no longer waits.")
        Evaluation.runs.filter(pk=current.pk).update(priority=priority)
        record(
            by=by,
            action=Action.PRIORITY_SET,
            target=current,
            label=current.in_words(),
            details={"before": current.priority, "after": priority},
        )
