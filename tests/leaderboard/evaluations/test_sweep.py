"""The sweep: one at a time, within its time, and everybody's turn comes."""

from datetime import timedelta

import psycopg
import pytest
from celery.exceptions import SoftTimeLimitExceeded
from django.db import connection

from leaderboard.evaluations import reconcile
from leaderboard.evaluations.models import EvaluationState
from tests.leaderboard.factories import make_evaluation

pytestmark = pytest.mark.django_db


@pytest.fixture
def reconciled(monkeypatch):
    """Ids of the evaluations that were looked at, in order."""
    seen = []

    def look(evaluation_id):
        seen.append(evaluation_id)
        return False

    monkeypatch.setattr(reconcile, "reconcile", look)
    return seen


def test_every_evaluation_that_has_not_ended_has_its_turn(reconciled):
    waiting = {make_evaluation(state=EvaluationState.QUEUED).pk for _ in range(4)}
    assert reconcile.sweep() == 4
    assert set(reconciled) == waiting
    assert len(reconciled) == 4


def test_a_second_sweep_at_the_same_time_leaves(reconciled):
    make_evaluation(state=EvaluationState.QUEUED)
    names = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}
    settings = connection.settings_dict
    with psycopg.connect(**{key: settings[name] for name, key in names.items() if settings[name]}) as other:
        other.execute("SELECT pg_advisory_lock(%s)", [reconcile.SWEEP_LOCK])
        assert reconcile.sweep() == 0
        # Not left to the end of the connection, which the server notices when it comes to it.
        other.execute("SELECT pg_advisory_unlock(%s)", [reconcile.SWEEP_LOCK])
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

    def look(evaluation_id):
        raise SoftTimeLimitExceeded

    monkeypatch.setattr(reconcile, "reconcile", look)
    with pytest.raises(SoftTimeLimitExceeded):
        reconcile.sweep()
    monkeypatch.setattr(reconcile, "reconcile", lambda _: False)
    assert reconcile.sweep() == 1
