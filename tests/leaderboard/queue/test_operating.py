"""What operators do: queue again, and say which goes first."""

import pytest

from leaderboard.evaluations.acting import NotPossibleError
from leaderboard.evaluations.models import Attempt, AttemptState, EvaluationState, Shard
from leaderboard.queue.leasing import leases
from leaderboard.queue.operating import prioritise, requeue
from leaderboard.submissions import services
from tests.leaderboard.factories import make_evaluation, make_lease, make_user

pytestmark = pytest.mark.django_db


def test_requeueing_takes_the_tasks_from_their_worker_and_the_next_one_gets_them(
    launcher, celery_messages, django_capture_on_commit_callbacks
):
    evaluation = make_evaluation(state=EvaluationState.LAUNCHING)
    lease = make_lease(evaluation)
    with django_capture_on_commit_callbacks(execute=True):
        assert requeue(evaluation, by=make_user()) == 1
    assert Attempt.objects.get().state == AttemptState.LOST
    assert set(celery_messages) == {("reconcile_evaluation", str(evaluation.pk))}
    with pytest.raises(leases.AttemptEndedError):
        leases.heartbeat(lease.attempt.pk)
    assert make_lease(evaluation, worker="another").tasks == lease.tasks


def test_what_waits_after_a_failure_is_due_at_once(launcher):
    evaluation = make_evaluation(state=EvaluationState.LAUNCHING)
    lease = make_lease(evaluation)
    leases.give_up(attempt_id=lease.attempt.pk, how=leases.GivenUp.FAILED, detail="no reason")
    assert leases.lease(worker="w", evaluation_id=evaluation.pk) is None
    assert requeue(evaluation) == 0
    assert leases.lease(worker="w", evaluation_id=evaluation.pk) is not None


def test_what_has_ended_is_neither_queued_again_nor_prioritised():
    evaluation = make_evaluation()
    services.cancel(evaluation)
    with pytest.raises(NotPossibleError):
        requeue(evaluation)
    with pytest.raises(NotPossibleError):
        prioritise(evaluation, priority=1)
    assert set(Shard.objects.values_list("tries", flat=True)) == {0}


@pytest.mark.parametrize("priority", [-1001, 1001])
def test_priorities_are_bounded(priority):
    with pytest.raises(ValueError, match="from -1000 to 1000"):
        prioritise(make_evaluation(), priority=priority)
