"""What operators do: queue again, say which goes first, limit the workers of this machine; and how workers of
evaluations that are over are stopped."""

import pytest

from gpu_jobs.launchers.base import LaunchError
from gpu_jobs.launchers.local import Limits
from leaderboard.evaluations.models import Attempt, AttemptState, Evaluation, EvaluationState, Shard
from leaderboard.evaluations.visibility import NotPossibleError
from leaderboard.platform.celery import app
from leaderboard.queue import steps
from leaderboard.queue.launching import local_launcher
from leaderboard.queue.leasing import leases
from leaderboard.queue.operating import prioritise, requeue
from leaderboard.queue.reconcile import reconcile
from leaderboard.queue.stopping import stop_workers
from leaderboard.submissions import services
from tests.leaderboard.factories import let_time_pass, make_evaluation, make_lease, make_user

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


def test_priorities_are_bounded():
    evaluation = make_evaluation()
    for priority in (-1001, 1001):
        with pytest.raises(ValueError, match="from -1000 to 1000"):
            prioritise(evaluation, priority=priority)


def test_workers_have_limits_on_memory_and_time_unless_the_operator_switches_them_off(settings):
    limits = local_launcher()._limits
    assert limits.memory_bytes >= 2 * 1024**3
    assert limits.seconds == 43_200
    settings.LOCAL_WORKER_MEMORY, settings.LOCAL_WORKER_SECONDS = 0, 0
    assert local_launcher()._limits == Limits()


def test_cancelling_asks_for_it_once_it_is_committed(celery_messages, launcher, django_capture_on_commit_callbacks):
    evaluation = make_evaluation(state=EvaluationState.LAUNCHING)
    with django_capture_on_commit_callbacks(execute=True):
        services.cancel(evaluation)
        assert celery_messages == []
    assert celery_messages.count(("stop_workers", str(evaluation.pk))) == 1


def test_a_message_that_cannot_be_sent_does_not_undo_the_cancellation(
    monkeypatch, launcher, django_capture_on_commit_callbacks
):
    def broken(*_, **__):
        raise OSError("the broker is away")

    monkeypatch.setattr(app, "send_task", broken)
    evaluation = make_evaluation(state=EvaluationState.LAUNCHING)
    with django_capture_on_commit_callbacks(execute=True):
        services.cancel(evaluation)
    evaluation.refresh_from_db()
    assert evaluation.state == EvaluationState.CANCELLED


def fail(evaluation: Evaluation) -> None:
    let_time_pass(evaluation)
    evaluation.refresh_from_db()
    assert steps.fail_overdue(evaluation)


@pytest.mark.parametrize("end", [services.cancel, fail])
def test_the_workers_that_held_its_tasks_are_stopped_and_nobody_else_s(end, launcher):
    evaluation, other = make_evaluation(), make_evaluation()
    for one in (evaluation, other):
        reconcile(one.pk)
        reconcile(one.pk)
    make_lease(evaluation, worker="fake-1")
    make_lease(other, worker="fake-2")
    assert stop_workers(evaluation_id=evaluation.pk, launching=launcher) == []
    end(evaluation)
    assert stop_workers(evaluation_id=evaluation.pk, launching=launcher) == ["fake-1"]
    assert launcher.stopped == ["fake-1"]


def test_a_worker_of_the_pool_that_has_moved_on_is_left_alone(launcher):
    evaluation, other = (make_evaluation(state=EvaluationState.LAUNCHING) for _ in range(2))
    make_lease(evaluation, worker="fake-1")
    services.cancel(evaluation)
    make_lease(other, worker="fake-1")
    assert stop_workers(evaluation_id=evaluation.pk, launching=launcher) == []


def test_a_launcher_that_cannot_stop_is_logged(launcher, caplog):
    class Broken(type(launcher)):
        def stop(self, *, handle):
            raise LaunchError("the cluster is away")

    evaluation = make_evaluation(state=EvaluationState.LAUNCHING)
    make_lease(evaluation, worker="w")
    services.cancel(evaluation)
    assert stop_workers(evaluation_id=evaluation.pk, launching=Broken()) == []
    assert "the cluster is away" in caplog.text
