"""A sweep looks at a hundred evaluations and then acts on one after the other: what it saw may be over by then."""

import pytest

from evaluator.engine.store import MemoryStore
from evaluator.records import Outcome
from leaderboard.evaluations.models import Attempt, AttemptState, Evaluation, EvaluationState, Shard, ShardState
from leaderboard.evaluations.reasons import EvaluationReason
from leaderboard.evaluations.states import advance
from leaderboard.queue import reconcile, steps
from leaderboard.queue.decisions import Do, Step
from leaderboard.queue.leasing import leases
from leaderboard.queue.steps import LostAttempt
from leaderboard.queue.workers.finishing import deliver
from leaderboard.submissions import services
from tests.leaderboard.factories import expire, let_time_pass, make_evaluation, make_lease, make_record

pytestmark = pytest.mark.django_db


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
    assert found[1].do is Do.LOSE_ATTEMPTS
    leases.heartbeat(lease.attempt.pk)
    assert not acted(found, launcher=launcher)
    assert Attempt.objects.get().state == AttemptState.LIVE


def test_a_worker_that_is_known_to_be_dead_loses_its_tasks_although_its_lease_lasts(launcher):
    lease = make_lease(make_evaluation(state=EvaluationState.LAUNCHING))
    found = looked_at_with_dead_worker(lease, launcher=launcher)
    assert acted(found, launcher=launcher)
    assert Attempt.objects.get().state == AttemptState.LOST
    assert Attempt.objects.get().reason == "its process ended"


def looked_at_with_dead_worker(lease, *, launcher):
    evaluation = reconcile._evaluations().get(pk=lease.evaluation.pk)
    return evaluation, Step(do=Do.LOSE_ATTEMPTS, attempts=(LostAttempt(lease.attempt.pk, "its process ended"),))


def test_an_evaluation_of_which_a_task_has_just_ended_does_not_fail(launcher):
    lease = make_lease(make_evaluation(state=EvaluationState.LAUNCHING))
    let_time_pass(lease.evaluation)
    found = looked_at(lease.evaluation, launcher=launcher)
    assert found[1].do is Do.FAIL
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
    assert found[1].do is Do.GIVE_UP_SHARDS
    assert advance(evaluation, target=EvaluationState.FAILED, reason=EvaluationReason.STALLED, facts={"hours": 6})
    assert not acted(found, launcher=launcher)
    assert Shard.objects.filter(state=ShardState.DONE).count() == 0
    assert set(evaluation.results.values_list("reason", flat=True)) == {"evaluation_failed"}
