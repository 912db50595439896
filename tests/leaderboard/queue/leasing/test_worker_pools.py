"""Time slices in the database: who gives a worker to whom, and what is leased next."""

from datetime import timedelta

import pytest
from django.utils import timezone

from evaluator.core.records import Outcome, Reason
from evaluator.execution.engine.store import MemoryStore
from gpu_jobs.contract import Phase
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Attempt, AttemptState, Evaluation, EvaluationState, Shard, ShardState
from leaderboard.people.models import User
from leaderboard.planners.models import Planner
from leaderboard.queue.leasing import leases
from leaderboard.queue.leasing.turns import LeaseFilter, Pick, next_evaluations, turn
from leaderboard.queue.workers.finishing import deliver
from tests.leaderboard.factories import make_evaluation, make_record, make_submission, make_suite, make_user

pytestmark = pytest.mark.django_db
LAUNCHING = EvaluationState.LAUNCHING
POOL = ("*",)


@pytest.fixture(autouse=True)
def _small_shards(settings, launcher):
    settings.TASKS_PER_SHARD = 1


@pytest.fixture
def suite() -> Suite:
    return make_suite(runnable=4)


def foreign(*, suite: Suite, user: User | None = None) -> Evaluation:
    """An evaluation of an endpoint."""
    submission = make_submission(
        user=user, suite=suite, kind="endpoint", bundled_name="", endpoint_url="http://planner.example/"
    )
    Evaluation.objects.filter(submission=submission).update(state=LAUNCHING)
    return submission.evaluations.get()


def bundled(*, suite: Suite, user: User | None = None) -> Evaluation:
    return make_evaluation(state=LAUNCHING, suite=suite, user=user)


def leased(worker: str = "w", *, pool: tuple[str, ...] = POOL) -> leases.Lease:
    found = leases.lease(worker=worker, pool=pool)
    assert found is not None, "no shard is due"
    return found


def hold(lease: leases.Lease, *, seconds: float) -> None:
    """Let a worker have had its attempt for so long, and others wait as long."""
    past = timezone.now() - timedelta(seconds=seconds)
    Attempt.objects.filter(pk=lease.attempt.pk).update(leased_at=past)
    Shard.objects.filter(state=ShardState.PENDING).update(available_at=past)


def beat(lease: leases.Lease, phase: Phase = Phase.PLANNING) -> AttemptState:
    """The attempt's state after a heartbeat."""
    try:
        leases.heartbeat(lease.attempt.pk, phase=phase)
    except leases.AttemptEndedError as error:
        return error.state
    return AttemptState.LIVE


def complete(lease: leases.Lease, **record) -> None:
    slug = lease.evaluation.suite.slug
    records = [make_record(task, suite=slug).model_copy(update=record) for task in lease.tasks]
    deliver(attempt_id=lease.attempt.pk, records=records, store=MemoryStore())
    leases.complete(lease.attempt.pk)


def test_a_planner_that_keeps_the_worker_beyond_its_slice_makes_way_for_another_user_and_comes_again(suite):
    hostile = foreign(suite=suite)
    lease = leased()
    honest = bundled(suite=suite)
    hold(lease, seconds=20)
    assert beat(lease) == AttemptState.FAILED
    attempt = Attempt.objects.get(pk=lease.attempt.pk)
    assert attempt.reason.startswith("released: its planner kept the worker for 20 seconds")
    hostile.refresh_from_db()
    assert (hostile.state, hostile.reason, hostile.times_set_aside) == ("running", "set_aside", 1)
    assert "20 seconds" in hostile.reason_text
    shard = hostile.shards.get(number=0)
    assert (shard.state, shard.tries) == (ShardState.PENDING, 0), "it does not count as a try"
    assert shard.available_at > timezone.now(), "what waits goes first"
    assert leased().evaluation == honest
    hold(lease, seconds=20)
    Evaluation.objects.filter(pk=honest.pk).update(state=EvaluationState.AGGREGATING)
    assert leased().tasks == lease.tasks


@pytest.mark.parametrize(
    ("seconds", "phase", "others", "pool", "most"),
    [
        (7, Phase.PLANNING, True, POOL, 15),
        (20, Phase.EXECUTING, True, POOL, 15),
        (20, Phase.PREPARING, True, POOL, 15),
        (20, Phase.PLANNING, False, POOL, 15),
        (20, Phase.PLANNING, True, (), 15),
        (20, Phase.PLANNING, True, ("another-suite",), 15),
        (2000, Phase.PLANNING, True, POOL, 0),
    ],
    ids=["in its slice", "executing", "preparing", "nobody waits", "of one evaluation", "other suites", "switched off"],
)
def test_it_keeps_its_worker(suite, settings, seconds, phase, others, pool, most):
    settings.SLICE_SECONDS = most
    own = make_suite(slug="another-suite")
    foreign(suite=own)
    lease = leased(pool=pool)
    if others:
        bundled(suite=suite)
    hold(lease, seconds=seconds)
    assert beat(lease, phase) == AttemptState.LIVE


def test_what_idle_workers_are_about_to_take_interrupts_nobody(suite):
    foreign(suite=suite)
    lease = leased()
    hold(lease, seconds=20)
    bundled(suite=suite)
    assert beat(lease) == AttemptState.LIVE


def test_the_last_worker_is_kept_for_proven_planners(suite):
    for _ in range(3):
        foreign(suite=suite)
    leased("w1")
    # Older than it, and its user has had no lease either.
    honest = bundled(suite=suite)
    assert leased("w2").evaluation == honest
    assert leased("w3").evaluation != honest


def test_a_worker_never_idles_because_only_new_planners_wait(suite):
    for _ in range(3):
        foreign(suite=suite)
    assert len({leased(worker).evaluation.pk for worker in ("w1", "w2", "w3")}) == 3


def test_further_new_planners_of_a_user_whose_planner_was_set_aside_come_last(suite):
    user = make_user()
    foreign(suite=suite, user=user)
    lease = leased()
    foreign(suite=suite, user=user)
    honest = foreign(suite=suite)
    hold(lease, seconds=20)
    assert beat(lease) == AttemptState.FAILED
    # By fair share nothing speaks against its user once the time of shares has passed.
    Attempt.objects.update(leased_at=timezone.now() - timedelta(hours=1))
    assert leased().evaluation == honest


def test_after_a_planner_was_set_aside_who_comes_last_does_not_wait_for_all_who_came_before(suite):
    """They may hang too."""
    foreign(suite=suite)
    lease = leased()
    waiting = [foreign(suite=suite) for _ in range(3)]
    assert next_evaluations(LeaseFilter(pool=POOL), most=3) == [one.pk for one in waiting]
    hold(lease, seconds=20)
    assert beat(lease) == AttemptState.FAILED
    newest_first = [one.pk for one in reversed(waiting)]
    assert next_evaluations(LeaseFilter(pool=POOL), most=3) == newest_first
    assert turn(LeaseFilter(pool=POOL), pick=Pick.FIRST_OF_EACH_USER, most=3).ordered == newest_first


@pytest.mark.parametrize(
    ("enter", "record", "proven"),
    [
        (foreign, {}, True),
        # It says nothing about other planners of its user.
        (bundled, {}, False),
        (foreign, {"outcome": Outcome.PLANNER_FAULT, "reason": Reason.PLANNER_TIMEOUT, "score": 0.0}, False),
    ],
)
def test_a_planner_is_proven_once_it_has_answered_a_task(suite, enter, record, proven):
    enter(suite=suite)
    complete(leased(), **record)
    assert Planner.objects.get().proven is proven


def test_a_new_planner_of_a_user_with_a_proven_one_does_not_wait_for_those_of_newcomers(suite):
    user = make_user()
    foreign(suite=suite, user=user)
    complete(leased())
    Evaluation.objects.update(state=EvaluationState.AGGREGATING)
    foreign(suite=suite)
    leased("w1")
    foreign(suite=suite)
    known = foreign(suite=suite, user=user)
    assert leased("w2").evaluation == known


def test_setting_aside_an_attempt_that_has_ended_changes_nothing(suite):
    evaluation = foreign(suite=suite)
    lease = leased()
    complete(lease)
    assert not leases.set_aside(lease.attempt.pk)
    evaluation.refresh_from_db()
    assert evaluation.times_set_aside == 0
