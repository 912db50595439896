"""The sweep: one at a time, within its time, and everybody's turn comes.

It looks at a hundred evaluations and then acts on one after the other: what it saw may be over by then.
"""

from datetime import timedelta

import pytest
from celery.exceptions import SoftTimeLimitExceeded
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evaluator.core.records import Outcome
from evaluator.execution.engine.store import MemoryStore
from gpu_jobs.launchers.base import NoLauncher
from leaderboard.evaluations.models import (
    Attempt,
    AttemptState,
    Evaluation,
    EvaluationReason,
    EvaluationState,
    Shard,
    ShardState,
)
from leaderboard.evaluations.states import advance
from leaderboard.platform.coordination.locks import exclusive
from leaderboard.queue import reconcile, steps
from leaderboard.queue.decisions import Action, Step
from leaderboard.queue.leasing import leases
from leaderboard.queue.workers.finishing import deliver
from leaderboard.submissions import services
from tests.fakes.launcher import FakeLauncher
from tests.leaderboard.factories import expire, let_time_pass, make_evaluation, make_lease, make_record, make_suite

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


class Defective(FakeLauncher):
    """A launcher with defects that one evaluation meets, when its worker is started and when it is looked at."""

    broken = frozenset[str]()

    def ensure(self, *, evaluation_id: str) -> str:
        if evaluation_id in self.broken:
            raise RuntimeError("a defect")
        return super().ensure(evaluation_id=evaluation_id)

    def alive(self, *, handle):
        if handle in self.broken:
            raise RuntimeError("a defect")
        return super().alive(handle=handle)


def test_a_broken_evaluation_keeps_none_of_the_others_waiting(launcher, monkeypatch):
    broken, *others = [make_evaluation(state=EvaluationState.QUEUED) for _ in range(4)]
    sound = Evaluation.objects.filter(pk__in=[other.pk for other in others])
    defective = Defective()
    monkeypatch.setattr(reconcile, "launcher", lambda: defective)
    defective.broken = {str(broken.pk)}
    reconcile.sweep()
    assert not sound.exclude(state=EvaluationState.LAUNCHING).exists()
    assert not sound.filter(launch_handle="").exists()
    Evaluation.objects.filter(pk=broken.pk).update(launch_handle="odd")
    defective.broken = {"odd"}
    sound.update(launch_handle="")
    reconcile.sweep()
    assert not sound.filter(launch_handle="").exists()


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


def looked_at(evaluation: Evaluation, *, launcher) -> tuple[Evaluation, Step]:
    """What a sweep reads of an evaluation, and what it wants to do."""
    (found,) = reconcile._steps_of([evaluation.pk], launching=launcher)
    return found


def acted(found: tuple[Evaluation, Step], *, launcher) -> bool:
    evaluation, step = found
    return reconcile._act(step=step, evaluation=evaluation, launching=launcher)


def test_a_worker_that_was_heard_of_again_keeps_its_tasks(launcher):
    lease = make_lease(make_evaluation(state=EvaluationState.LAUNCHING))
    expire(lease)
    found = looked_at(lease.evaluation, launcher=launcher)
    assert found[1].action is Action.LOSE_ATTEMPTS
    leases.heartbeat(lease.attempt.pk)
    assert not acted(found, launcher=launcher)
    assert Attempt.objects.get().state == AttemptState.LIVE


def test_an_evaluation_of_which_a_task_has_just_ended_does_not_fail(launcher):
    lease = make_lease(make_evaluation(state=EvaluationState.LAUNCHING))
    let_time_pass(lease.evaluation)
    found = looked_at(lease.evaluation, launcher=launcher)
    assert found[1].action is Action.FAIL
    record = make_record(lease.tasks[0], suite=lease.evaluation.suite.slug)
    deliver(attempt_id=lease.attempt.pk, records=[record], store=MemoryStore())
    assert not acted(found, launcher=launcher)
    assert Evaluation.objects.get().state == EvaluationState.RUNNING
    let_time_pass(lease.evaluation)
    assert acted(found, launcher=launcher)
    assert Evaluation.objects.get().reason == "stalled"


def test_who_has_read_the_faults_before_they_were_accepted_does_not_put_it_on_hold_again(launcher):
    lease = make_lease(make_evaluation(state=EvaluationState.LAUNCHING))
    records = [
        make_record(task, suite=lease.evaluation.suite.slug, outcome=Outcome.INFRA_FAULT) for task in lease.tasks
    ]
    deliver(attempt_id=lease.attempt.pk, records=records, store=MemoryStore())
    leases.complete(lease.attempt.pk)
    assert steps.aggregate(Evaluation.objects.get())
    early = Evaluation.objects.select_related("suite").get()
    assert early.state == EvaluationState.AGGREGATING
    reconcile.reconcile(lease.evaluation.pk)
    assert Evaluation.objects.get().state == EvaluationState.ON_HOLD
    services.accept(early)
    accepted = Evaluation.objects.get()
    assert accepted.state == EvaluationState.AGGREGATING
    assert accepted.attempt > early.attempt, "or the one below could act on what it read before"


def test_shards_of_what_has_ended_meanwhile_are_not_given_up(launcher):
    evaluation = make_evaluation(state=EvaluationState.LAUNCHING)
    Shard.objects.update(tries=99)
    found = looked_at(evaluation, launcher=launcher)
    assert found[1].action is Action.GIVE_UP_SHARDS
    assert advance(evaluation, target=EvaluationState.FAILED, reason=EvaluationReason.STALLED, facts={"hours": 6})
    assert not acted(found, launcher=launcher)
    assert Shard.objects.filter(state=ShardState.DONE).count() == 0
    assert set(evaluation.results.values_list("reason", flat=True)) == {"evaluation_failed"}
