"""Transactions of one evaluation that meet: one waits for the other, and no two wait for each other."""

import threading
from collections.abc import Callable

import pytest
from django.db import connection

from evaluator.engine.store import MemoryStore
from leaderboard.evaluations.models import AttemptState, Evaluation, EvaluationState
from leaderboard.queue import steps
from leaderboard.queue.leasing import leases, next_shard
from leaderboard.queue.workers import finishing
from leaderboard.submissions import services
from tests.leaderboard.factories import let_time_pass, make_evaluation, make_lease, make_record
from tests.rings import usual

pytestmark = pytest.mark.django_db(transaction=True)


def deliver(lease: leases.Lease) -> None:
    record = make_record(lease.tasks[0], suite=lease.evaluation.suite.slug)
    finishing.deliver(attempt_id=lease.attempt.pk, records=[record], store=MemoryStore())


def give_up(lease: leases.Lease) -> None:
    leases.give_up(attempt_id=lease.attempt.pk, how=leases.GivenUp.FAILED, detail="out of memory")


def lose(lease: leases.Lease) -> None:
    leases.lose(attempt_id=lease.attempt.pk, detail="it was not heard of any more")


def cancel(evaluation: Evaluation) -> None:
    services.cancel(evaluation)


def fail_overdue(evaluation: Evaluation) -> None:
    steps.fail_overdue(evaluation)


@pytest.mark.parametrize("ending", usual([cancel, fail_overdue], of=[cancel]))
@pytest.mark.parametrize("working", usual([deliver, give_up, lose], of=[deliver, lose]))
def test_an_evaluation_that_ends_while_its_attempt_changes(monkeypatch, launcher, ending, working):
    evaluation = make_evaluation(state=EvaluationState.LAUNCHING)
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
    if (working, ending) == (deliver, fail_overdue):
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


def test_leasing_waits_for_the_evaluation_before_it_takes_a_shard(monkeypatch, launcher, settings):
    settings.TASKS_PER_SHARD = 1
    evaluation = make_evaluation(state=EvaluationState.LAUNCHING)
    first = make_lease(evaluation)
    order: list[str] = []
    lock, take = next_shard.lock_first, next_shard._next_shard
    monkeypatch.setattr(
        next_shard, "lock_first", lambda *which, **how: order.append("evaluation") or lock(*which, **how)
    )
    monkeypatch.setattr(next_shard, "_next_shard", lambda locked: order.append("shard") or take(locked))
    assert leases.lease(worker="w").tasks == ["1"]
    assert order == ["evaluation", "shard"]
    assert first.tasks == ["0"]
