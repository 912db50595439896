"""What only operators do with evaluations: have them queued again, and say which goes first."""

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
    """Take an evaluation's tasks from their workers, to be leased again, and return how many workers had some.

    Before: it is neither final nor `on_hold`.
    After: none of its attempts is live, what waited after a failure is due at once, and the reconciler looks at it now.
    Results that were posted stay. A try that is taken away counts, as that of any other worker that is lost.

    Raises:
        NotPossibleError: it is in another state; nothing was changed.
    """
    with transaction.atomic():
        current = lock_evaluation(evaluation.pk)
        if current.state in states.FINAL or current.state == EvaluationState.ON_HOLD:
            label = EvaluationState(current.state).label.lower()
            raise NotPossibleError(f"The evaluation is {label!r}; only one that is under way can be queued again.")
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
    """Say when an evaluation goes, among what is equally due by its users' shares: the higher one first.

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
            raise NotPossibleError(f"The evaluation is {label!r}; it waits for nothing any more.")
        Evaluation.runs.filter(pk=current.pk).update(priority=priority)
        record(
            by=by,
            action=Action.PRIORITY_SET,
            target=current,
            label=current.in_words(),
            details={"before": current.priority, "after": priority},
        )
