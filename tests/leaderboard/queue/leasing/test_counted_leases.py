"""Counts of older leases that a process keeps: new leases count at once all the same."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from leaderboard.evaluations.models import Attempt, EvaluationState
from leaderboard.queue.leasing import counted_leases, leases
from tests.leaderboard.factories import make_evaluation, make_suite, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def kept_for_minutes(settings):
    settings.FAIR_SHARE_RECOUNT_SECONDS, settings.TASKS_PER_SHARD = 300, 1
    counted_leases.forget()
    yield
    counted_leases.forget()


def served(count: int) -> list[str]:
    return [leases.lease(worker="w").evaluation.submission.submitted_by.username for _ in range(count)]


def test_users_take_turns_although_nothing_is_counted_again():
    suite = make_suite(runnable=6)
    for name in ("ada", "bob", "eve"):
        make_evaluation(user=make_user(name), suite=suite, state=EvaluationState.LAUNCHING)
    with CaptureQueriesContext(connection) as queries:
        order = served(9)
    assert [sorted(order[start : start + 3]) for start in (0, 3, 6)] == [["ada", "bob", "eve"]] * 3
    assert sum("jsonb_agg(counted)" in query["sql"] for query in queries) == 1


def test_older_leases_count_by_their_sums_and_each_once():
    suite = make_suite(runnable=6)
    for name in ("ada", "bob"):
        make_evaluation(user=make_user(name), suite=suite, state=EvaluationState.LAUNCHING)
    assert sorted(served(4)) == ["ada", "ada", "bob", "bob"]
    # Bob's are in the sums now, ada's are too young for that.
    Attempt.objects.filter(user__username="bob").update(leased_at=timezone.now() - timedelta(seconds=60))
    counted_leases.forget()
    # Without the sums bob would come first and second, counted twice ada would.
    assert served(4) == ["ada", "bob", "ada", "bob"]
