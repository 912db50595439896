"""From submission to the board, through the services and the reconciler, with a fake evaluator."""

import pytest

from evaluator.engine.store import MemoryStore
from evaluator.records import Outcome
from leaderboard.boards.models import Snapshot
from leaderboard.evaluations.models import EvaluationState
from leaderboard.queue.leasing import leases
from leaderboard.queue.reconcile import reconcile, sweep
from leaderboard.queue.workers.finishing import deliver
from leaderboard.submissions import services
from tests.leaderboard.factories import make_evaluation, make_lease, make_record, make_suite, rows

pytestmark = pytest.mark.django_db


def run_all(evaluation, *, outcome=Outcome.SCORED):
    """Work off every shard that is due."""
    while lease := leases.lease(worker="w", evaluation_id=evaluation.pk):
        slug = lease.evaluation.suite.slug
        records = [make_record(task, suite=slug, outcome=outcome) for task in lease.tasks]
        deliver(attempt_id=lease.attempt.pk, records=records, store=MemoryStore())
        leases.complete(lease.attempt.pk)


def test_a_submission_ends_on_the_board(launcher):
    evaluation = make_evaluation(suite=make_suite(runnable=20, not_run=3))
    sweep()
    evaluation.refresh_from_db()
    assert evaluation.state == EvaluationState.LAUNCHING
    assert launcher.ensured == [str(evaluation.pk)]
    assert evaluation.reason == "waiting_for_worker"

    run_all(evaluation)
    sweep()
    evaluation.refresh_from_db()
    assert evaluation.state == EvaluationState.COMPLETED
    assert evaluation.summary["metrics"]["overall"]["mean"] == 0.5
    assert evaluation.finished is not None
    content = Snapshot.objects.get(suite=evaluation.suite).content
    assert [row["evaluation"] for row in content["rows"]] == [str(evaluation.pk)]
    assert content["coverage"] == {"run": 20, "total": 23}


def test_an_infra_fault_keeps_the_evaluation_off_the_board_until_its_owner_resumes_it(launcher):
    evaluation = make_evaluation(state=EvaluationState.LAUNCHING)
    lease = make_lease(evaluation)
    slug = lease.evaluation.suite.slug
    records = [make_record(task, suite=slug) for task in lease.tasks[:-1]]
    records.append(make_record(lease.tasks[-1], suite=slug, outcome=Outcome.INFRA_FAULT))
    deliver(attempt_id=lease.attempt.pk, records=records, store=MemoryStore())
    leases.complete(lease.attempt.pk)
    sweep()
    evaluation.refresh_from_db()
    assert evaluation.state == EvaluationState.ON_HOLD
    assert "1 of 4 tasks" in evaluation.reason_text
    assert not Snapshot.objects.exists()

    assert services.resume(evaluation) == 1
    evaluation.refresh_from_db()
    assert (evaluation.state, evaluation.attempt) == (EvaluationState.QUEUED, 2)
    reconcile(evaluation.pk)
    again = make_lease(evaluation)
    assert again.tasks == [lease.tasks[-1]]
    deliver(
        attempt_id=again.attempt.pk, records=[make_record(again.tasks[0], suite=slug, score=1.0)], store=MemoryStore()
    )
    leases.complete(again.attempt.pk)
    sweep()
    evaluation.refresh_from_db()
    assert evaluation.state == EvaluationState.COMPLETED
    assert rows(evaluation)[lease.tasks[-1]] == ("scored", 1.0)
    assert Snapshot.objects.count() == 1


def test_accepting_infra_faults_scores_them_as_faults_of_the_planner(launcher):
    evaluation = make_evaluation(state=EvaluationState.LAUNCHING)
    run_all(evaluation, outcome=Outcome.INFRA_FAULT)
    sweep()
    assert services.accept(evaluation) == 4
    sweep()
    evaluation.refresh_from_db()
    assert evaluation.state == EvaluationState.COMPLETED
    assert set(rows(evaluation).values()) == {("planner_fault", 0.0)}
    assert evaluation.results.filter(accepted=True).count() == 4


def test_an_evaluation_without_any_task_that_can_run_ends_too(launcher):
    evaluation = make_evaluation(suite=make_suite(runnable=0, not_run=2))
    sweep()
    evaluation.refresh_from_db()
    assert evaluation.state == EvaluationState.COMPLETED
