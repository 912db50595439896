"""Workers of evaluations that are over are stopped through the launcher."""

import pytest

from gpu_jobs.launchers import LaunchError
from leaderboard.evaluations.models import EvaluationState
from leaderboard.queue import steps
from leaderboard.queue.reconcile import reconcile
from leaderboard.queue.stopping import stop_workers
from leaderboard.site.celery import app
from leaderboard.submissions import services
from tests.leaderboard.factories import let_time_pass, make_evaluation, make_lease, make_suite

pytestmark = pytest.mark.django_db


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


def test_the_workers_that_held_its_tasks_are_stopped_and_nobody_else_s(launcher):
    evaluation, other = make_evaluation(), make_evaluation()
    for one in (evaluation, other):
        reconcile(one.pk)
        reconcile(one.pk)
    make_lease(evaluation, worker="fake-1")
    make_lease(other, worker="fake-2")
    assert stop_workers(evaluation_id=evaluation.pk, launching=launcher) == []
    services.cancel(evaluation)
    assert stop_workers(evaluation_id=evaluation.pk, launching=launcher) == ["fake-1"]
    assert launcher.stopped == ["fake-1"]


def test_a_worker_of_the_pool_that_has_moved_on_is_left_alone(launcher):
    evaluation, other = (make_evaluation(state=EvaluationState.LAUNCHING) for _ in range(2))
    make_lease(evaluation, worker="fake-1")
    services.cancel(evaluation)
    make_lease(other, worker="fake-1")
    assert stop_workers(evaluation_id=evaluation.pk, launching=launcher) == []


def test_a_failed_evaluation_s_workers_are_stopped_too(launcher):
    evaluation = make_evaluation(state=EvaluationState.LAUNCHING)
    make_lease(evaluation, worker="fake-1")
    let_time_pass(evaluation)
    evaluation.refresh_from_db()
    assert steps.fail_overdue(evaluation)
    assert stop_workers(evaluation_id=evaluation.pk, launching=launcher) == ["fake-1"]


def test_a_launcher_that_cannot_stop_is_logged(launcher, caplog):
    class Broken(type(launcher)):
        def stop(self, *, handle):
            raise LaunchError("the cluster is away")

    evaluation = make_evaluation(state=EvaluationState.LAUNCHING)
    make_lease(evaluation, worker="w")
    services.cancel(evaluation)
    assert stop_workers(evaluation_id=evaluation.pk, launching=Broken()) == []
    assert "the cluster is away" in caplog.text


def test_a_launcher_that_refuses_for_long_ends_no_evaluation(launcher):
    evaluation = make_evaluation(state=EvaluationState.LAUNCHING, suite=make_suite(runnable=20))
    launcher.refusal = "The worker does not fit the site."
    for _ in range(3):
        reconcile(evaluation.pk)
        let_time_pass(evaluation)
    evaluation.refresh_from_db()
    assert (evaluation.state, evaluation.reason) == ("launching", "launch_failed")
    assert evaluation.reason_text == "No worker could be started: The worker does not fit the site. Retrying."
