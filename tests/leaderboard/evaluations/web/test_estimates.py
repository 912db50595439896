"""How long an evaluation will probably wait: the arithmetic, and what it is fed with."""

import itertools
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from leaderboard.evaluations.models import (
    Attempt,
    AttemptState,
    Evaluation,
    EvaluationState,
    Shard,
    ShardState,
    Submission,
)
from leaderboard.queue.estimates import (
    Done,
    Expectation,
    Line,
    Range,
    Throughput,
    expectation,
    expected,
    expected_of_new,
    throughput,
)
from leaderboard.queue.leasing import leases
from tests.leaderboard.factories import make_evaluation, make_suite, make_user
from tests.leaderboard.platform.api.helpers import ApiClient, client_of

START = datetime(2026, 3, 1, tzinfo=UTC)
MANY = Throughput(shards=10_000, seconds=60.0, at_once=1.0)
"""So many that the range is narrow."""
NEAR = 0.02


def attempt(begin: float, end: float, suite: str = "a", **facts):
    return Done(START + timedelta(seconds=begin), START + timedelta(seconds=end), suite, **facts)


def one_after_the_other(*seconds: float, **facts):
    """Attempts of these durations."""
    ends = list(itertools.accumulate(seconds))
    return [attempt(end - took, end, **facts) for end, took in zip(ends, seconds, strict=True)]


def test_a_throughput_is_known_by_suite_and_kind_from_enough_shards_without_idle_time():
    assert throughput([attempt(0, 60)] * 3) is None
    assert expectation(measured=None, line=Line(before=1, own=1)) == Expectation(begins=None, ends=None)
    found = throughput([attempt(0, 60), attempt(30, 90), attempt(3000, 3060), attempt(3030, 3090)])
    assert (found.seconds, found.at_once) == (60, pytest.approx(240 / 180)), "time without work does not count"
    found = throughput([attempt(0, 10), attempt(10, 20), attempt(20, 120, "b"), attempt(120, 220, "b")])
    assert [found.seconds_of(suite=slug, is_executed=True) for slug in "ab"] == [10, 100]
    # A suite that was not measured takes what others of its kind take.
    executed = [attempt(0, 100), attempt(100, 200)]
    found = throughput([*executed, *(attempt(200 + n, 201 + n, "judged", is_executed=False) for n in range(2))])
    assert [found.seconds_of(suite="new", is_executed=is_executed) for is_executed in (False, True)] == [1, 100]


def test_shards_that_load_experts_do_not_foretell_the_others():
    found = throughput(one_after_the_other(8.2, 36.4, *[0.2] * 22))
    assert found.seconds_of(suite="a", is_executed=True) == pytest.approx((22 * 0.2 + 2 * 1.0) / 24)


def test_a_planner_of_its_own_pace_is_foreseen_by_its_own_shards():
    slow = 7
    bundled = one_after_the_other(*[0.2] * 40)
    own = [attempt(100 + 40 * n, 140 + 40 * n, planner=slow) for n in range(3)]
    before, after = throughput(bundled), throughput([*bundled, *own])
    assert before.seconds_of(suite="a", is_executed=True, planner=slow) == pytest.approx(0.2)
    assert after.seconds_of(suite="a", is_executed=True, planner=slow) == pytest.approx(40)


def middle(found: Range) -> float:
    return (found.low * found.high) ** 0.5


@pytest.mark.parametrize(
    ("line", "begins", "ends"),
    [
        # Alone: nothing is ahead, and all workers are one's own.
        (Line(before=0, own=600), 0, 10),
        # Another user has much to do: both get half.
        (Line(before=0, own=600, others=((6000, 1),)), 0, 20),
        # Another user has little to do: no more than that is ahead.
        (Line(before=0, own=600, others=((120, 1),)), 0, 12),
        # Twice the weight: for two of one's own shards one of theirs.
        (Line(before=0, own=600, weight=2, others=((6000, 1),)), 0, 15),
        # One's own come one after the other, and others take turns with both.
        (Line(before=300, own=600, others=((6000, 1), (60, 1))), 11, 31),
    ],
)
def test_users_take_turns_by_their_weight(line, begins, ends):
    found = expectation(measured=MANY, line=line)
    assert middle(found.begins) == pytest.approx(begins, rel=0.02)
    assert middle(found.ends) == pytest.approx(ends, rel=0.02)


def test_a_user_of_weight_0_waits_for_all_others_and_delays_nobody():
    def ends(line):
        return expectation(measured=MANY, line=line).ends

    assert ends(Line(before=0, own=60, weight=0, others=[(600, 1)])) == ends(Line(before=600, own=60))
    assert ends(Line(before=0, own=60, weight=0, others=[(600, 0)])) == ends(Line(before=60, own=60))
    assert ends(Line(before=0, own=60, others=[(600, 0)])) == ends(Line(before=0, own=60))


def test_the_range_narrows_with_what_was_measured_and_is_never_far_from_its_middle():
    few, many = (
        expectation(measured=replace(MANY, shards=shards), line=Line(before=0, own=600)).ends for shards in (4, 10_000)
    )
    assert (few.low, few.high) == (5, 20)
    assert middle(many) == pytest.approx(10)
    assert many.high / many.low < 1.7


@pytest.fixture
def busy(db, settings, launcher):
    """Shards of one task; eight were done in the last hour, each in a minute, one after the other."""
    settings.TASKS_PER_SHARD = 1
    suite = make_suite(slug="openagi", runnable=8)
    done = make_evaluation(suite=suite, state=EvaluationState.LAUNCHING)
    now = timezone.now()
    for number in range(8):
        lease = leases.lease(worker="w", evaluation_id=done.pk)
        ended = now - timedelta(minutes=number)
        Attempt.objects.filter(pk=lease.attempt.pk).update(
            state=AttemptState.COMPLETED, leased_at=ended - timedelta(minutes=1), ended_at=ended
        )
        Shard.objects.filter(pk=lease.attempt.shard_id).update(state=ShardState.DONE)
    return suite


def test_what_waits_in_the_queue_is_counted(busy, django_assert_max_num_queries):
    user = make_user()
    first = make_evaluation(user=user, suite=busy)
    second = make_evaluation(user=user, suite=busy)
    other = make_evaluation(suite=busy)
    first = Evaluation.objects.select_related("suite", "submission__submitted_by", "own_worker_run").get(pk=first.pk)
    with django_assert_max_num_queries(4):
        assert middle(expected(first).ends) == pytest.approx(16, rel=NEAR)
    # The other user's eight are done meanwhile.
    assert middle(expected(second).begins) == pytest.approx(16, rel=NEAR)
    assert middle(expected(second).ends) == pytest.approx(24, rel=NEAR)
    assert middle(expected(other).begins) == pytest.approx(0, abs=0.1)
    with django_assert_max_num_queries(4):
        found = expected_of_new(user=user, suite=busy)
    assert middle(found.begins) == pytest.approx(24, rel=NEAR)


def test_ones_own_priority_moves_ones_own(busy):
    user = make_user()
    first = make_evaluation(user=user, suite=busy)
    urgent = make_evaluation(user=user, suite=busy)
    Submission.objects.filter(pk=urgent.submission_id).update(priority=1)
    urgent.refresh_from_db()
    assert expected(urgent).begins.high == 0
    assert middle(expected(first).begins) == pytest.approx(8, rel=NEAR)
    assert (
        expected_of_new(user=user, suite=busy, priority="low").begins
        > expected_of_new(user=user, suite=busy, priority="high").begins
    )


def test_of_what_has_ended_or_waits_for_its_owner_nothing_is_said(busy):
    for state in (EvaluationState.ON_HOLD, EvaluationState.CANCELLED):
        assert expected(make_evaluation(suite=busy, state=state)) is None


def test_old_shards_tell_nothing(busy):
    Attempt.objects.update(leased_at=timezone.now() - timedelta(days=8))
    assert expected(make_evaluation(suite=busy)).in_words().startswith("Unknown:")


def test_the_api_tells_it(busy):
    user = make_user()
    evaluation = make_evaluation(user=user, suite=busy)
    shown = ApiClient().get(f"evaluations/{evaluation.pk}/wait/").json()
    assert shown["known"]
    assert shown["measured_shards"] == 8
    low, high = shown["ends_in_minutes"]
    assert low < 8 < high
    new = client_of(user).get("wait/", suite="openagi").json()
    assert new["begins_in_minutes"][0] > 0
    assert client_of(user).get("wait/", suite="nothing").status_code == 400
    assert client_of(user).get("wait/", suite="openagi", priority="urgent").status_code == 400
