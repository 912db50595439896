"""Where a waiting evaluation stands, against the order in which workers are really served."""

import random
from datetime import timedelta

import pytest
from django.utils import timezone

from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.queue.leasing import leases
from leaderboard.queue.models import OwnWorkerRun
from leaderboard.queue.place import Before, Shards, WaitsFor, place_of, what_it_waits_for, with_open_shards
from tests.leaderboard.factories import make_evaluation, make_lease, make_suite, make_user

LAUNCHING = EvaluationState.LAUNCHING
NONE = Before(evaluations=0, shards=0, of_others=0)
DUE = Shards(pending=2, leased=0, due=2, resting=0, next_at=None)


def fresh(evaluation: Evaluation) -> Evaluation:
    """The evaluation as a request reads it."""
    related = "submission__submitted_by", "own_worker_run", "suite"
    return Evaluation.objects.select_related(*related).get(pk=evaluation.pk)


def waits_for(evaluation: Evaluation) -> WaitsFor | None:
    place = place_of(fresh(evaluation))
    return None if place is None else place.waits_for


OBSTACLES = [
    ({}, WaitsFor.FREE_WORKER),
    ({"workers": 0}, WaitsFor.WORKER),
    ({"workers": 0, "is_own": True}, WaitsFor.OWN_WORKER),
    ({"is_own": True}, WaitsFor.FREE_WORKER),
    ({"held_back": True, "shards": DUE._replace(leased=1, due=0)}, WaitsFor.CANARY),
    ({"held_back": True}, WaitsFor.FREE_WORKER),
    ({"shards": DUE._replace(due=0, resting=2)}, WaitsFor.RETRY),
    ({"before": Before(3, 9, 1)}, WaitsFor.SHARE),
    ({"before": Before(3, 9, 0)}, WaitsFor.TURN),
    ({"before": Before(3, 9, 0), "workers": 0}, WaitsFor.TURN),
]


def test_the_first_obstacle_is_what_it_waits_for():
    facts = {"is_own": False, "held_back": False, "shards": DUE, "before": NONE, "workers": 1}
    for changes, expected in OBSTACLES:
        assert what_it_waits_for(**facts | changes) == expected, changes


@pytest.mark.django_db
@pytest.mark.parametrize("seed", range(3))
def test_whose_place_is_the_first_is_served_next_whatever_was_before(seed: int):
    """Some users with several evaluations each, of different priorities and weights, are served one by one."""
    dice = random.Random(seed)
    suite = make_suite(runnable=1)
    users = [make_user() for _ in range(3)]
    for user in users:
        user.queue_weight = dice.randint(0, 3)
        user.save()
    waiting = {make_evaluation(state=LAUNCHING, user=dice.choice(users), suite=suite).pk for _ in range(7)}
    for pk in waiting:
        Evaluation.objects.filter(pk=pk).update(priority=dice.choice([0, 0, 1]))
    while waiting:
        numbers = {place_of(fresh(one)).number: one.pk for one in Evaluation.objects.filter(pk__in=waiting)}
        assert sorted(numbers) == list(range(1, len(waiting) + 1)), "each has a place of its own"
        served = leases.lease(worker="w").evaluation.pk
        assert numbers[1] == served
        waiting.discard(served)


@pytest.mark.django_db
def test_who_has_had_less_for_their_weight_goes_first():
    suite = make_suite(runnable=40)
    ada, bea = make_user(), make_user()
    first = make_evaluation(state=LAUNCHING, user=ada, suite=suite)
    make_lease(first)
    mine = make_evaluation(state=LAUNCHING, user=ada, suite=suite)
    place = place_of(fresh(mine))
    assert (place.number, place.waits_for) == (2, WaitsFor.TURN), "the older one of the same user is served first"
    make_evaluation(state=LAUNCHING, user=bea, suite=suite)
    place = place_of(fresh(mine))
    assert (place.waits_for, place.before.evaluations, place.before.of_others) == (WaitsFor.SHARE, 2, 1)


@pytest.mark.django_db
def test_alone_it_waits_for_a_worker_and_then_for_a_free_one():
    suite = make_suite(runnable=1)
    mine = make_evaluation(state=LAUNCHING, suite=suite)
    assert place_of(fresh(mine)).sentence == "Next in the queue. Waiting for a worker; none is active."
    other = make_evaluation(state=LAUNCHING, suite=suite)
    make_lease(other)
    assert waits_for(mine) == WaitsFor.FREE_WORKER
    make_lease(mine)
    assert place_of(fresh(mine)) is None, "its only shard is worked on"


@pytest.mark.django_db
def test_what_runs_is_not_next_in_the_queue():
    mine = make_evaluation(state=LAUNCHING, suite=make_suite(runnable=20))
    leases.give_up(attempt_id=make_lease(mine).attempt.pk, how=leases.GivenUp.RELEASED, detail="it was stopped")
    assert fresh(mine).state == EvaluationState.RUNNING
    assert place_of(fresh(mine)).sentence == "Waiting for a worker; none is active."
    other = make_evaluation(state=LAUNCHING, suite=make_suite(runnable=1))
    make_lease(other)
    assert place_of(fresh(mine)).sentence == "The next free worker takes it."


@pytest.mark.django_db
def test_what_was_read_with_its_open_shards_is_asked_nothing_where_there_is_no_place(django_assert_num_queries):
    mine = make_evaluation(state=LAUNCHING, suite=make_suite(runnable=1))

    def read():
        return with_open_shards(Evaluation.objects.select_related("submission__submitted_by", "own_worker_run")).get()

    assert place_of(read()).number == 1
    make_lease(mine)
    leased = read()
    with django_assert_num_queries(0):
        assert place_of(leased) is None


@pytest.mark.django_db
def test_what_own_workers_run_has_a_queue_of_its_own():
    suite = make_suite(runnable=1)
    user = make_user()
    for owner in (user, make_user()):
        make_evaluation(state=LAUNCHING, user=owner, suite=suite)
    own = make_evaluation(state=LAUNCHING, user=user, suite=suite)
    OwnWorkerRun.objects.create(evaluation=own)
    place = place_of(fresh(own))
    assert (place.number, place.waits_for) == (1, WaitsFor.OWN_WORKER)
    last = place_of(fresh(make_evaluation(user=make_user(), suite=suite)))
    # It has a place before its launch, since workers may take it.
    assert (last.number, last.waits_for, last.before.shards) == (3, WaitsFor.SHARE, 2), "the own one is not before it"


@pytest.mark.django_db
def test_shards_that_rest_are_tried_again_at_a_time_and_others_wait_for_the_canary():
    mine = make_evaluation(state=LAUNCHING, suite=make_suite(runnable=1))
    at = timezone.now() + timedelta(minutes=7)
    mine.shards.update(available_at=at)
    place = place_of(fresh(mine))
    assert place.waits_for == WaitsFor.RETRY
    assert f"{at:%H:%M} UTC" in place.why
    canary = make_evaluation(state=LAUNCHING, suite=make_suite(runnable=40))
    Evaluation.objects.filter(pk=canary.pk).update(leasable_shards=1)
    make_lease(canary)
    place = place_of(fresh(canary))
    assert (place.waits_for, place.sentence) == (WaitsFor.CANARY, place.why), "a place would be no answer"


@pytest.mark.django_db
def test_what_does_not_wait_has_no_place():
    suite = make_suite(runnable=1)
    for state in ("aggregating", "on_hold", "failed", "cancelled"):
        assert place_of(fresh(make_evaluation(suite=suite, state=EvaluationState(state)))) is None, state
