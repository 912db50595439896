"""Whose turn it is: by weight and what they had, then priority, then age."""

import random
import threading
from collections import Counter
from contextlib import ExitStack, contextmanager
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
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
from leaderboard.evaluations.states import end_attempt, move_shard
from leaderboard.platform.models import Action, AuditEntry
from leaderboard.queue.leasing import leases, next_shard, turns
from leaderboard.queue.leasing.turns import LeaseFilter, Pick, next_evaluations, turn
from tests.leaderboard.factories import make_evaluation, make_submission, make_suite, make_team, make_user

pytestmark = pytest.mark.django_db
LAUNCHING = EvaluationState.LAUNCHING


def next_evaluation():
    """The evaluation whose turn it is; None if there is none."""
    return next(iter(turn(LeaseFilter(), pick=Pick.FIRST_OF_EACH_USER, most=1).ordered), None)


def serve(*, slots: int, until: int, seed: int = 0) -> Counter[str]:
    """Let `slots` workers take shards until `until` were taken, ending them in random order; count them by user.

    The leases are simulated: whose turn it is comes from the real query, results do not matter.
    """
    dice = random.Random(seed)
    owners = dict(Evaluation.objects.values_list("pk", "submission__submitted_by__username"))
    served: Counter[str] = Counter()
    live: list[tuple[Attempt, Shard]] = []
    while served.total() < until:
        if len(live) == slots:
            _finish(*live.pop(dice.randrange(slots)))
        evaluation = next_evaluation()
        assert evaluation is not None, "every queue is longer than this"
        attempt = next_shard._lease_of(evaluation, worker="w", token="", pool=()).attempt
        live.append((attempt, attempt.shard))
        served[owners[evaluation]] += 1
    for attempt, shard in live:
        _finish(attempt, shard)
    return served


def _for_team(*, user, suite, team):
    evaluation = make_submission(user=user, suite=suite, team=team).evaluations.get()
    Evaluation.objects.filter(pk=evaluation.pk).update(state=LAUNCHING)


def _finish(attempt: Attempt, shard: Shard) -> None:
    assert end_attempt(attempt_id=attempt.pk, target=AttemptState.COMPLETED)
    leased, done = ShardState.LEASED, ShardState.DONE
    assert move_shard(shard_id=shard.pk, source=leased, target=done, tries=shard.tries + 1)


@pytest.fixture(autouse=True)
def _one_task_per_shard(settings, launcher):
    settings.TASKS_PER_SHARD = 1


def test_a_user_of_weight_0_is_served_only_while_nobody_else_waits():
    suite, house, guest = make_suite(runnable=40), make_user(), make_user()
    house.queue_weight = 0
    house.save()
    for _ in range(3):
        make_evaluation(user=house, suite=suite, state=LAUNCHING)
    assert serve(slots=1, until=3) == {house.username: 3}
    late = make_evaluation(user=guest, suite=suite, state=LAUNCHING)
    shards = Shard.objects.filter(evaluation=late).count()
    assert shards > 3, "the guest has had more in the end"
    assert serve(slots=1, until=shards) == {guest.username: shards}
    assert serve(slots=1, until=1) == {house.username: 1}


def test_ten_users_with_unequal_queues_get_the_same_within_a_tenth():
    suite = make_suite(runnable=12)
    for number in range(10):
        user = make_user(f"user{number}")
        for _ in range(3 if number == 0 else 1):
            make_evaluation(user=user, suite=suite, state=LAUNCHING)
    # Fewer workers than users, as in a real queue: live leases alone would always prefer the oldest evaluations.
    served = serve(slots=4, until=100)
    assert len(served) == 10
    assert all(9 <= count <= 11 for count in served.values()), served


@pytest.mark.parametrize("whose", ["user", "team"])
def test_of_twice_the_weight_one_gets_twice_as_much(whose):
    suite = make_suite(runnable=20)
    light, *heavy = (make_user(name) for name in ("light", "ada", "bea"))
    lab = make_team(*heavy, name="lab")
    call_command("prioritise", whose, "ada" if whose == "user" else "lab", "2", verbosity=0)
    make_evaluation(user=light, suite=suite, state=LAUNCHING)
    if whose == "user":
        make_evaluation(user=heavy[0], suite=suite, state=LAUNCHING)
    else:
        for member in heavy:
            _for_team(user=member, suite=suite, team=lab)
    served = serve(slots=2, until=18)
    assert abs(served["light"] - 6) <= 1, served
    assert AuditEntry.objects.get(action=Action.WEIGHT_SET).details == {"before": 1, "after": 2}


def test_a_team_gets_no_more_than_a_user_however_many_are_in_it():
    suite = make_suite(runnable=20)
    alone, *members = (make_user(name) for name in ("alone", "ada", "bea", "cleo"))
    lab = make_team(*members, name="lab")
    make_evaluation(user=alone, suite=suite, state=LAUNCHING)
    for member in members:
        _for_team(user=member, suite=suite, team=lab)
    served = serve(slots=2, until=20)
    assert abs(served["alone"] - 10) <= 1, served
    assert all(2 <= served[member.username] <= 5 for member in members), served


def test_who_submits_for_many_teams_gets_no_more_than_who_submits_for_none():
    suite = make_suite(runnable=20)
    alone, busy = make_user("alone"), make_user("busy")
    make_evaluation(user=alone, suite=suite, state=LAUNCHING)
    for number in range(3):
        _for_team(user=busy, suite=suite, team=make_team(busy, name=f"lab{number}"))
    served = serve(slots=2, until=20)
    assert abs(served["alone"] - 10) <= 1, served


def test_what_was_had_long_ago_does_not_count():
    suite = make_suite(runnable=8)
    first = make_evaluation(suite=suite, state=LAUNCHING)
    serve(slots=1, until=4)
    second = make_evaluation(suite=suite, state=LAUNCHING)
    assert next_evaluation() == second.pk
    Attempt.objects.update(leased_at=timezone.now() - timedelta(days=1))
    assert next_evaluation() == first.pk


def test_priority_does_not_outweigh_shares():
    suite = make_suite()
    urgent = make_evaluation(suite=suite, state=LAUNCHING)
    Evaluation.objects.update(priority=100)
    assert leases.lease(worker="w").evaluation.pk == urgent.pk
    other = make_evaluation(suite=suite, state=LAUNCHING)
    assert leases.lease(worker="w").evaluation.pk == other.pk


def test_what_cannot_be_is_refused_with_a_sentence():
    make_user("ada")
    for arguments in ("user nobody 2", "user ada 0", "team nothing 2", "evaluation not-an-id 1", "user ada x"):
        with pytest.raises(CommandError):
            call_command("prioritise", *arguments.split())


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("users", [4, 1])
def test_workers_that_ask_at_one_moment_serve_different_users_or_one_user_s_next_evaluations(users):
    suite = make_suite(runnable=1)
    names = [f"user{number}" for number in range(users)]
    for name in names:
        user = make_user(name)
        for _ in range(4):
            make_evaluation(user=user, suite=suite, state=LAUNCHING)
    with ExitStack() as stack:
        # Each in a transaction of its own that has not ended: none sees the leases of the others.
        served = [stack.enter_context(_lease_elsewhere()) for _ in range(4)]
    assert sorted(served) == sorted(names * (4 // users))


@contextmanager
def _lease_elsewhere():
    """Lease in a thread whose transaction ends only with this block, and say whose evaluation it is."""
    leased, end = threading.Event(), threading.Event()
    found = []

    def work() -> None:
        try:
            with transaction.atomic():
                lease = leases.lease(worker="w")
                found.append(lease.evaluation.submission.submitted_by.username)
                leased.set()
                end.wait(timeout=30)
        finally:
            connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    assert leased.wait(timeout=15), "the lease waits for another transaction"
    try:
        yield found[0]
    finally:
        end.set()
        thread.join(timeout=15)


def prioritised(evaluation: Evaluation, priority: int) -> Evaluation:
    """The evaluation with its submitter's own priority."""
    Submission.objects.filter(pk=evaluation.submission_id).update(priority=priority)
    return evaluation


def test_a_submitters_own_priority_orders_their_own_evaluations():
    user, suite = make_user(), make_suite()
    low, normal, high = (make_evaluation(user=user, suite=suite, state=LAUNCHING) for _ in range(3))
    prioritised(low, -1)
    prioritised(high, 1)
    for wanted in (high, normal, low):
        assert next_evaluation() == wanted.pk
        assert next_evaluations(LeaseFilter(), most=1) == [wanted.pk]
        Shard.objects.filter(evaluation=wanted).update(state=ShardState.DONE)


def test_the_operators_priority_comes_before_the_submitters():
    user, suite = make_user(), make_suite()
    prioritised(make_evaluation(user=user, suite=suite, state=LAUNCHING), 1)
    urgent = make_evaluation(user=user, suite=suite, state=LAUNCHING)
    call_command("prioritise", "evaluation", str(urgent.pk), "5", verbosity=0)
    assert next_evaluation() == urgent.pk


def test_a_submitters_own_priority_passes_no_other_user():
    suite = make_suite()
    older = make_evaluation(suite=suite, state=LAUNCHING)
    user = make_user()
    second = make_evaluation(user=user, suite=suite, state=LAUNCHING)
    first = prioritised(make_evaluation(user=user, suite=suite, state=LAUNCHING), 1)
    prioritised(older, -1)
    assert turn(LeaseFilter(), pick=Pick.FIRST_OF_EACH_USER, most=9).ordered == [older.pk, first.pk]
    assert next_evaluations(LeaseFilter(), most=9) == [older.pk, first.pk, second.pk]


class TestCountedLeases:
    """Counts of older leases that a process keeps: new leases count at once all the same."""

    @pytest.fixture(autouse=True)
    def _kept_for_minutes(self, settings):
        settings.FAIR_SHARE_RECOUNT_SECONDS = 300
        turns.forget_sums()
        yield
        turns.forget_sums()

    def served(self, count: int) -> list[str]:
        return [leases.lease(worker="w").evaluation.submission.submitted_by.username for _ in range(count)]

    def test_users_take_turns_although_nothing_is_counted_again(self):
        suite = make_suite(runnable=6)
        for name in ("ada", "bob", "eve"):
            make_evaluation(user=make_user(name), suite=suite, state=LAUNCHING)
        with CaptureQueriesContext(connection) as queries:
            order = self.served(9)
        assert [sorted(order[start : start + 3]) for start in (0, 3, 6)] == [["ada", "bob", "eve"]] * 3
        assert sum("jsonb_agg(counted)" in query["sql"] for query in queries) == 1

    def test_older_leases_count_by_their_sums_and_each_once(self):
        suite = make_suite(runnable=6)
        for name in ("ada", "bob"):
            make_evaluation(user=make_user(name), suite=suite, state=LAUNCHING)
        assert sorted(self.served(4)) == ["ada", "ada", "bob", "bob"]
        # Bob's are in the sums now, ada's are too young for that.
        Attempt.objects.filter(user__username="bob").update(leased_at=timezone.now() - timedelta(seconds=60))
        turns.forget_sums()
        # Without the sums bob would come first and second, counted twice ada would.
        assert self.served(4) == ["ada", "bob", "ada", "bob"]
