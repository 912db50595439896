"""Leases: who gets which shard, and what a worker that lost its lease can still do (nothing)."""

import threading

import pytest
from django.db import connection, transaction

from evaluator.engine.store import MemoryStore
from evaluator.records import Outcome
from leaderboard.evaluations.acting import NotPossibleError
from leaderboard.evaluations.models import Attempt, AttemptState, EvaluationState, Shard, ShardState, TaskResult
from leaderboard.queue.leasing import leases, next_shard
from leaderboard.queue.reconcile import reconcile, sweep
from leaderboard.queue.workers.finishing import deliver
from leaderboard.results.results import ObjectsMissingError, RecordsRefusedError
from leaderboard.submissions import services
from tests.leaderboard.factories import (
    expire,
    make_evaluation,
    make_lease,
    make_record,
    make_suite,
    rows,
)
from tests.leaderboard.threads import in_threads

LAUNCHING = EvaluationState.LAUNCHING


def send(lease, tasks, **changes) -> int:
    """Deliver records of some tasks of a lease."""
    slug = lease.evaluation.suite.slug
    records = [make_record(task, suite=slug, **changes) for task in tasks]
    return deliver(attempt_id=lease.attempt.pk, records=records, store=MemoryStore())


@pytest.mark.django_db
class TestFairness:
    def test_shards_of_an_evaluation_come_in_order(self, settings):
        settings.TASKS_PER_SHARD = 1
        make_evaluation(suite=make_suite(runnable=3), state=LAUNCHING)
        assert [leases.lease(worker="w").tasks for _ in range(3)] == [["0"], ["1"], ["2"]]
        assert leases.lease(worker="w") is None

    def test_a_worker_can_ask_for_one_suite_or_one_evaluation(self):
        evaluation = make_evaluation(state=LAUNCHING)
        assert leases.lease(worker="w", suites=["another"]) is None
        assert leases.lease(worker="w", evaluation_id=make_evaluation(state=EvaluationState.ON_HOLD).pk) is None
        assert leases.lease(worker="w", suites=[evaluation.suite.slug]) is not None

    @pytest.mark.parametrize("state", ["aggregating", "on_hold", "failed", "cancelled"])
    def test_evaluations_that_wait_for_no_worker_are_not_leased(self, state):
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
            try:
                found.append(next_shard._next_shard(evaluation.pk).number)
            finally:
                connection.close()

        with transaction.atomic():
            held = next_shard._next_shard(evaluation.pk)
            assert held.number == 0
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
            thread = threading.Thread(target=lambda: _in_transaction(lease_elsewhere))
            thread.start()
            thread.join(timeout=10)
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


def _in_transaction(work) -> None:
    with transaction.atomic():
        work()


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
            ({"indicators": {"length": float("nan")}}, "cannot be kept"),
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

    def test_results_whose_artefacts_are_not_there_are_refused(self):
        from evaluator.records import ArtefactReference, SampleResult

        lease = make_lease(make_evaluation(state=LAUNCHING))
        reference = ArtefactReference(digest="a" * 64, media_type="image/png")
        sample = SampleResult(index=0, score=0.5, inputs={"image": reference}, reference=None, answer=None, steps=[])
        record = make_record("0", suite=lease.evaluation.suite.slug).model_copy(update={"samples": [sample]})
        with pytest.raises(ObjectsMissingError):
            deliver(attempt_id=lease.attempt.pk, records=[record], store=MemoryStore())
        assert not TaskResult.objects.exists()


@pytest.mark.django_db
class TestEnds:
    def test_an_attempt_with_open_tasks_cannot_be_completed(self):
        lease = make_lease(make_evaluation(state=LAUNCHING))
        send(lease, ["0"])
        with pytest.raises(leases.IncompleteError, match="1, 2, 3"):
            leases.complete(lease.attempt.pk)
        assert Attempt.objects.get().state == AttemptState.LIVE

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

    def test_cancelling_ends_the_attempts_and_closes_the_open_tasks(self):
        evaluation = make_evaluation(state=LAUNCHING)
        lease = make_lease(evaluation)
        send(lease, ["0"])
        services.cancel(evaluation)
        with pytest.raises(leases.AttemptEndedError) as caught:
            leases.heartbeat(lease.attempt.pk)
        assert caught.value.state == AttemptState.CANCELLED
        with pytest.raises(leases.AttemptEndedError):
            send(lease, ["1"])
        assert [outcome for outcome, _ in rows(evaluation).values()].count("cancelled") == 3
        with pytest.raises(NotPossibleError, match="'cancelled'"):
            services.cancel(evaluation)

    @pytest.mark.parametrize("act", [services.resume, services.accept])
    def test_only_an_evaluation_on_hold_can_be_resumed_or_accepted(self, act):
        with pytest.raises(NotPossibleError, match="'queued'"):
            act(make_evaluation())
