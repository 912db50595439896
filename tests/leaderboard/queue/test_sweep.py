"""The sweep: one at a time, within its time, and everybody's turn comes."""

from datetime import timedelta

import pytest
from celery.exceptions import SoftTimeLimitExceeded
from django.db import connection
from django.test.utils import CaptureQueriesContext

from gpu_jobs.launchers import NoLauncher
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.queue import reconcile
from leaderboard.site.coordination.services import exclusive
from tests.fakes.launcher import FakeLauncher
from tests.leaderboard.factories import make_evaluation, make_suite

pytestmark = pytest.mark.django_db


@pytest.fixture
def reconciled(monkeypatch):
    """Ids of the evaluations that were looked at, in order."""
    seen = []

    def act(*, evaluation, **_):
        seen.append(evaluation.pk)
        return False

    monkeypatch.setattr(reconcile, "_act", act)
    return seen


def test_every_evaluation_that_has_not_ended_has_its_turn(reconciled):
    waiting = {make_evaluation(state=EvaluationState.QUEUED).pk for _ in range(4)}
    assert reconcile.sweep() == 4
    assert set(reconciled) == waiting
    assert len(reconciled) == 4


@pytest.mark.parametrize("launching", [FakeLauncher(), NoLauncher()])
def test_a_sweep_asks_as_often_however_many_wait_or_have_ended(launching, monkeypatch):
    monkeypatch.setattr(reconcile, "launcher", lambda: launching)
    suite = make_suite()
    make_evaluation(suite=suite)
    reconcile.sweep()
    few = statements_of_a_sweep()
    for _ in range(4):
        make_evaluation(suite=suite)
    reconcile.sweep()
    assert statements_of_a_sweep() == few
    Evaluation.objects.filter(pk__in=[make_evaluation(suite=suite).pk for _ in range(4)]).update(
        state=EvaluationState.COMPLETED, summary={}
    )
    assert statements_of_a_sweep() == few


def statements_of_a_sweep() -> int:
    with CaptureQueriesContext(connection) as captured:
        reconcile.sweep()
    return len(captured)


def test_evaluations_that_have_ended_are_not_even_read():
    with connection.cursor() as cursor:
        # Whatever is best for the few rows of a test.
        cursor.execute("SET LOCAL enable_seqscan = off")
        with CaptureQueriesContext(connection) as captured:
            reconcile.sweep()
        plans = []
        for query in captured.captured_queries:
            if query["sql"].startswith("SELECT"):
                cursor.execute("EXPLAIN " + query["sql"])
                plans.append("\n".join(line for (line,) in cursor.fetchall()))
    assert len(plans) == 2, "which have not ended, and which verdicts are open"
    assert not [plan for plan in plans if "Seq Scan" in plan]


class LookingFails(FakeLauncher):
    """A launcher with a defect that one evaluation meets."""

    defect = ""

    def alive(self, *, handle):
        if handle == self.defect:
            raise RuntimeError("a defect")
        return super().alive(handle=handle)


def test_what_cannot_be_looked_at_keeps_none_of_the_others_waiting(launcher, settings, monkeypatch):
    broken, *others = [make_evaluation(state=EvaluationState.QUEUED) for _ in range(4)]
    reconcile.sweep()
    broken.refresh_from_db()
    failing = LookingFails()
    failing.defect = broken.launch_handle
    monkeypatch.setattr(reconcile, "launcher", lambda: failing)
    Evaluation.objects.filter(pk__in=[other.pk for other in others]).update(launch_handle="")
    reconcile.sweep()
    assert not Evaluation.objects.exclude(pk=broken.pk).filter(launch_handle="").exists()


def test_a_second_sweep_at_the_same_time_leaves(reconciled):
    make_evaluation(state=EvaluationState.QUEUED)
    with exclusive(reconcile.SWEEP, lasting=timedelta(minutes=1)):
        assert reconcile.sweep() == 0
    assert reconciled == []
    assert reconcile.sweep() == 1


def test_without_time_it_stops_and_beginnings_differ(reconciled, monkeypatch):
    for _ in range(5):
        make_evaluation(state=EvaluationState.QUEUED)
    assert reconcile.sweep(budget=timedelta()) == 5
    assert reconciled == []
    firsts = set()
    for turn in range(5):
        monkeypatch.setattr(reconcile.random, "randrange", lambda _, turn=turn: turn)
        reconcile.sweep()
        firsts.add(reconciled[-5])
    assert len(firsts) == 5


def test_the_end_of_a_tasks_time_is_no_error_of_an_evaluation(monkeypatch):
    make_evaluation(state=EvaluationState.QUEUED)

    def act(**_):
        raise SoftTimeLimitExceeded

    monkeypatch.setattr(reconcile, "_act", act)
    with pytest.raises(SoftTimeLimitExceeded):
        reconcile.sweep()
    monkeypatch.setattr(reconcile, "_act", lambda **_: False)
    assert reconcile.sweep() == 1
