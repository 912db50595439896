"""Leases: who gets which shard, and what a worker that lost its lease can still do (nothing)."""

import threading
from collections.abc import Callable

import pytest
from django.db import connection, transaction

from evaluator.core.records import Outcome
from evaluator.execution.engine.store import MemoryStore
from leaderboard.evaluations.models import AttemptState, Evaluation, EvaluationState, Shard, ShardState, TaskResult
from leaderboard.evaluations.results.results import RecordsRefusedError
from leaderboard.queue import steps
from leaderboard.queue.leasing import leases, next_shard
from leaderboard.queue.reconcile import reconcile, sweep
from leaderboard.queue.workers import finishing
from leaderboard.queue.workers.finishing import deliver
from leaderboard.submissions import services
from tests.leaderboard.factories import (
    expire,
    let_time_pass,
    make_evaluation,
    make_lease,
    make_record,
    make_suite,
    rows,
)
from tests.leaderboard.threads import in_threads
from tests.rings import usual

LAUNCHING = EvaluationState.LAUNCHING


def send(lease, tasks, **changes) -> int:
    """Deliver records of some tasks of a lease."""
    slug = lease.evaluation.suite.slug
    records = [make_record(task, suite=slug, **changes) for task in tasks]
    return deliver(attempt_id=lease.attempt.pk, records=records, store=MemoryStore())


@pytest.mark.django_db
class TestFairness:
    def test_evaluations_that_wait_for_no_worker_are_not_leased(self):
        for state in ("aggregating", "on_hold", "failed", "cancelled"):
            make_evaluation(state=EvaluationState(state))
        assert leases.lease(worker="w") is None

    @pytest.mark.parametrize("state", ["queued", "launching", "running"])
    def test_a_worker_that_is_there_need_not_be_asked_for(self, state):
        evaluation = make_evaluation(state=EvaluationState(state))
        assert leases.lease(worker="w") is not None
        evaluation.refresh_from_db()
        assert (evaluation.state, evaluation.reason) == ("running", "running")
        # The message that asks for one comes later.
        reconcile(evaluation.pk)
        evaluation.refresh_from_db()
        assert evaluation.state == "running"


@pytest.mark.django_db(transaction=True)
class TestConcurrency:
    def test_a_shard_that_another_transaction_is_leasing_is_skipped_without_waiting(self, settings):
        settings.TASKS_PER_SHARD = 1
        evaluation = make_evaluation(suite=make_suite(runnable=2), state=EvaluationState.RUNNING)
        found = []

        def lease_elsewhere() -> None:
            with transaction.atomic():
                found.append(next_shard._NEXT_SHARD.first(evaluation=evaluation.pk, tries=settings.SHARD_TRIES).number)

        with transaction.atomic():
            assert next_shard._NEXT_SHARD.first(evaluation=evaluation.pk, tries=settings.SHARD_TRIES).number == 0
            assert in_threads(lease_elsewhere, count=1) == []
        assert found == [1]

    def test_many_workers_at_once_get_every_shard_exactly_once(self, settings):
        settings.TASKS_PER_SHARD = 1
        make_evaluation(suite=make_suite(runnable=12), state=LAUNCHING)
        taken = []

        def work() -> None:
            while lease := leases.lease(worker="w"):
                taken.extend(lease.tasks)

        errors = in_threads(work, count=4)
        # A worker that met a lock that was just let go sees nothing to do; whoever asks next gets the shard.
        while lease := leases.lease(worker="w"):
            taken.extend(lease.tasks)
        assert errors == []
        assert sorted(taken, key=int) == [str(number) for number in range(12)]


@pytest.mark.django_db
def test_who_leases_and_gives_back_without_end_comes_to_one(monkeypatch):
    monkeypatch.setattr(leases, "_RELEASES_FORGIVEN", 3)
    evaluation = make_evaluation(state=LAUNCHING)
    tries = []
    for _ in range(6):
        lease = make_lease(evaluation)
        leases.give_up(attempt_id=lease.attempt.pk, how=leases.GivenUp.RELEASED, detail="stopped")
        tries.append(Shard.objects.get().tries)
    assert tries == [0, 0, 0, 1, 2, 3]


@pytest.mark.django_db
class TestDelivery:
    def test_a_second_delivery_changes_nothing(self):
        lease = make_lease(make_evaluation(state=LAUNCHING))
        assert send(lease, lease.tasks[:2]) == 2
        before = list(TaskResult.objects.order_by("pk").values())
        assert send(lease, lease.tasks[:2]) == 0
        assert send(lease, lease.tasks[:2], score=0.9) == 0
        assert list(TaskResult.objects.order_by("pk").values()) == before

    def test_a_late_result_of_a_lost_attempt_changes_nothing(self, launcher):
        evaluation = make_evaluation(state=LAUNCHING)
        lost = make_lease(evaluation)
        send(lost, lost.tasks[:1])
        expire(lost)
        reconcile(evaluation.pk)
        with pytest.raises(leases.AttemptEndedError) as caught:
            send(lost, lost.tasks[1:2])
        assert caught.value.state == AttemptState.LOST
        for late in (leases.heartbeat, leases.complete):
            with pytest.raises(leases.AttemptEndedError):
                late(lost.attempt.pk)
        with pytest.raises(leases.AttemptEndedError):
            leases.give_up(attempt_id=lost.attempt.pk, how=leases.GivenUp.FAILED, detail="late")
        assert list(rows(evaluation)) == lost.tasks[:1]
        assert Shard.objects.get().tries == 1

    def test_a_lost_worker_s_open_tasks_and_only_these_are_leased_again(self, launcher):
        evaluation = make_evaluation(state=LAUNCHING)
        lost = make_lease(evaluation)
        send(lost, ["1", "3"])
        launcher.dead[lost.attempt.worker] = "its process ended"
        reconcile(evaluation.pk)
        evaluation.refresh_from_db()
        assert evaluation.reason == "worker_lost"
        assert "its process ended" in evaluation.reason_text
        again = make_lease(evaluation)
        assert again.tasks == ["0", "2"]
        assert again.attempt.number == 2
        evaluation.refresh_from_db()
        assert evaluation.reason == "running"

    def test_a_shard_that_loses_every_worker_ends_as_infra_fault(self, launcher, settings):
        settings.SHARD_TRIES = 2
        evaluation = make_evaluation(state=LAUNCHING)
        first = make_lease(evaluation)
        send(first, ["0"])
        expire(first)
        reconcile(evaluation.pk)
        expire(make_lease(evaluation))
        sweep()
        evaluation.refresh_from_db()
        assert evaluation.state == EvaluationState.ON_HOLD
        found = dict(evaluation.results.values_list("task__key", "reason"))
        assert found == {"0": "", "1": "worker_lost", "2": "worker_lost", "3": "worker_lost"}

    @pytest.mark.parametrize(
        ("change", "complaint"),
        [
            ({"task": "99"}, "is not one of the attempt's tasks"),
            ({"suite": "another"}, "the record is of suite 'another'"),
            ({"score": None}, "needs a score"),
            ({"outcome": Outcome.NOT_RUN, "score": None}, "cannot come from a worker"),
            ({"outcome": Outcome.INFRA_FAULT, "score": 0.0}, "must not have a score"),
            ({"outcome": Outcome.PLANNER_FAULT, "score": 0.0}, "needs a reason"),
            *[({"score": score}, r"scores are in \[-1, 1\]") for score in (1.01, -1.01, float("nan"), float("inf"))],
            ({"indicators": {"length": float("nan")}}, "cannot be stored"),
        ],
    )
    def test_a_record_that_does_not_fit_is_refused_and_nothing_is_kept(self, change, complaint):
        lease = make_lease(make_evaluation(state=LAUNCHING))
        slug = lease.evaluation.suite.slug
        good = make_record("0", suite=slug)
        bad = make_record("1", suite=slug).model_copy(update=change)
        with pytest.raises(RecordsRefusedError, match=complaint):
            deliver(attempt_id=lease.attempt.pk, records=[good, bad], store=MemoryStore())
        assert not TaskResult.objects.exists()


@pytest.mark.django_db
class TestEnds:
    def test_a_worker_that_fails_counts_as_a_try_and_its_shard_waits(self):
        evaluation = make_evaluation(state=LAUNCHING)
        lease = make_lease(evaluation)
        leases.give_up(attempt_id=lease.attempt.pk, how=leases.GivenUp.FAILED, detail="out of memory")
        shard = Shard.objects.get()
        assert (shard.state, shard.tries) == (ShardState.PENDING, 1)
        assert leases.lease(worker="w") is None
        evaluation.refresh_from_db()
        assert "out of memory" in evaluation.reason_text

    @pytest.mark.parametrize("how", [leases.GivenUp.RELEASED, leases.GivenUp.REFUSED])
    def test_a_worker_that_is_stopped_or_does_not_fit_does_not_count_as_a_try(self, how):
        lease = make_lease(make_evaluation(state=LAUNCHING))
        leases.give_up(attempt_id=lease.attempt.pk, how=how, detail="x")
        assert Shard.objects.get().tries == 0
        assert (leases.lease(worker="w") is not None) == (how == leases.GivenUp.RELEASED)


# --- Transactions of one evaluation that meet: one waits for the other, and no two wait for each other ----------------


def deliver_one(lease: leases.Lease) -> None:
    send(lease, lease.tasks[:1])


def give_up(lease: leases.Lease) -> None:
    leases.give_up(attempt_id=lease.attempt.pk, how=leases.GivenUp.FAILED, detail="out of memory")


def lose(lease: leases.Lease) -> None:
    leases.lose(attempt_id=lease.attempt.pk, detail="it lost contact with the site")


def cancel(evaluation: Evaluation) -> None:
    services.cancel(evaluation)


def fail_overdue(evaluation: Evaluation) -> None:
    steps.fail_overdue(evaluation)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("ending", usual([cancel, fail_overdue], of=[cancel]))
@pytest.mark.parametrize("working", usual([deliver_one, give_up, lose], of=[deliver_one, lose]))
def test_an_evaluation_that_ends_while_its_attempt_changes(monkeypatch, launcher, ending, working):
    evaluation = make_evaluation(state=LAUNCHING)
    lease = make_lease(evaluation)
    let_time_pass(evaluation)
    evaluation.refresh_from_db()
    attempt_is_locked, evaluation_is_locked = threading.Event(), threading.Event()
    lock, end = leases.locked_attempt, leases.cancel_attempts

    def lock_and_wait(attempt_id):
        attempt = lock(attempt_id)
        attempt_is_locked.set()
        # In one order for all, the other cannot get there now; in two orders it can, and both would hang.
        evaluation_is_locked.wait(timeout=1)
        return attempt

    def say_and_end(evaluation_id):
        evaluation_is_locked.set()
        end(evaluation_id)

    for module in (leases, finishing):
        monkeypatch.setattr(module, "locked_attempt", lock_and_wait)
    for module in (services, steps):
        monkeypatch.setattr(module, "cancel_attempts", say_and_end)
    errors: list[Exception] = []
    threads = [_thread(lambda: working(lease), errors), _thread(lambda: ending(evaluation), errors)]
    threads[0].start()
    assert attempt_is_locked.wait(timeout=10)
    threads[1].start()
    for thread in threads:
        thread.join(timeout=20)
    assert errors == []
    evaluation.refresh_from_db()
    lease.attempt.refresh_from_db()
    if (working, ending) == (deliver_one, fail_overdue):
        # The result that came first gives it its full time again.
        assert (evaluation.state, lease.attempt.state) == (EvaluationState.RUNNING, AttemptState.LIVE)
        return
    assert evaluation.state == (EvaluationState.CANCELLED if ending is cancel else EvaluationState.FAILED)
    assert lease.attempt.state != AttemptState.LIVE


def _thread(work: Callable[[], None], errors: list[Exception]) -> threading.Thread:
    def run() -> None:
        try:
            work()
        except Exception as error:
            errors.append(error)
        finally:
            connection.close()

    return threading.Thread(target=run)


@pytest.mark.django_db
def test_leasing_waits_for_the_evaluation_before_it_takes_a_shard(monkeypatch, launcher, settings):
    settings.TASKS_PER_SHARD = 1
    evaluation = make_evaluation(state=LAUNCHING)
    first = make_lease(evaluation)
    order: list[str] = []
    lock, take = next_shard.turn, next_shard._lease_of
    monkeypatch.setattr(next_shard, "turn", lambda *which, **how: order.append("evaluation") or lock(*which, **how))
    monkeypatch.setattr(next_shard, "_lease_of", lambda *which, **how: order.append("shard") or take(*which, **how))
    assert leases.lease(worker="w").tasks == ["1"]
    assert order == ["evaluation", "shard"]
    assert first.tasks == ["0"]
