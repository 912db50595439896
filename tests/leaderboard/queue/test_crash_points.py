"""Whatever dies, and at whatever point, the sweep brings the evaluation to the same end.

No Celery message is ever delivered in these tests: each of them is also a test of lost messages.
"""

import pytest
from django.utils import timezone

from evaluator.core.records import Outcome
from evaluator.execution.engine.store import MemoryStore
from leaderboard.boards.models import Snapshot
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.queue import steps
from leaderboard.queue.leasing import leases
from leaderboard.queue.reconcile import sweep
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

pytestmark = pytest.mark.django_db


def send(lease: leases.Lease, tasks: list[str]) -> None:
    slug = lease.evaluation.suite.slug
    deliver(attempt_id=lease.attempt.pk, records=[make_record(task, suite=slug) for task in tasks], store=MemoryStore())


def run(evaluation: Evaluation) -> None:
    """A worker that lives."""
    while lease := leases.lease(worker="w", evaluation_id=evaluation.pk):
        send(lease, lease.tasks)
        leases.complete(lease.attempt.pk)


SENT = {"worker with its lease": 0, "worker after some results": 2, "worker before it says that it is done": 5}
"""Who dies, and how many results it has sent."""
CRASHES = ["message", "launching process", *SENT, "message of the last worker", "aggregating process"]


def crash(evaluation: Evaluation, *, dies: str) -> None:
    """What happens until somebody dies, or a message is lost."""
    if dies == "message":
        return
    if dies == "launching process":
        assert steps.launch(evaluation)
        return
    sweep()
    if dies in SENT:
        lease = make_lease(evaluation)
        send(lease, lease.tasks[: SENT[dies]])
        expire(lease)
        return
    run(evaluation)
    if dies == "aggregating process":
        evaluation.refresh_from_db()
        assert steps.aggregate(evaluation)


@pytest.mark.parametrize("dies", CRASHES)
def test_after_a_crash_the_evaluation_ends_as_without_one(dies, launcher):
    evaluation = make_evaluation(suite=make_suite(runnable=5, not_run=1))
    crash(evaluation, dies=dies)
    for _ in range(3):
        sweep()
        run(evaluation)
    evaluation.refresh_from_db()
    assert evaluation.state == EvaluationState.COMPLETED
    assert rows(evaluation) == {**{str(n): ("scored", 0.5) for n in range(5)}, "x0": ("not_run", None)}
    assert Snapshot.objects.count() == 1


@pytest.mark.parametrize("step", [steps.launch, steps.aggregate, steps.summarise, steps.fail_overdue, steps.abandon])
def test_a_step_that_another_process_has_done_changes_nothing(step, launcher):
    evaluation = make_evaluation()
    before = {
        steps.launch: EvaluationState.QUEUED, steps.aggregate: EvaluationState.RUNNING,
        steps.summarise: EvaluationState.AGGREGATING, steps.fail_overdue: EvaluationState.RUNNING,
        steps.abandon: EvaluationState.ON_HOLD,
    }[step]  # fmt: skip
    Evaluation.objects.filter(pk=evaluation.pk).update(state=before)
    let_time_pass(evaluation)
    seen = Evaluation.objects.select_related("suite").get(pk=evaluation.pk)
    assert step(seen) is True
    after = Evaluation.objects.values().get(pk=evaluation.pk)
    assert step(seen) is False
    assert Evaluation.objects.values().get(pk=evaluation.pk) == after


def test_a_step_of_an_earlier_attempt_changes_nothing():
    evaluation = make_evaluation()
    Evaluation.objects.filter(pk=evaluation.pk).update(attempt=2)
    assert steps.launch(evaluation) is False
    evaluation.refresh_from_db()
    assert evaluation.state == EvaluationState.QUEUED


def test_scores_that_cannot_be_computed_are_tried_again_and_then_fail(launcher, settings):
    evaluation = make_evaluation()
    sweep()
    run(evaluation)
    settings.EVALUATOR = "tests.fakes.evaluator.UnsummarisingEvaluator"
    sweep()
    evaluation.refresh_from_db()
    assert (evaluation.state, evaluation.reason) == (EvaluationState.AGGREGATING, "aggregate_retry")
    Evaluation.objects.filter(pk=evaluation.pk).update(state_deadline=timezone.now())
    sweep()
    evaluation.refresh_from_db()
    assert (evaluation.state, evaluation.reason) == (EvaluationState.FAILED, "aggregate_failed")
    assert not Snapshot.objects.exists()


def test_an_infra_fault_keeps_the_evaluation_off_the_board_until_its_owner_resumes_it(launcher):
    evaluation = make_evaluation(state=EvaluationState.LAUNCHING)
    lease = make_lease(evaluation)
    *done, failed = lease.tasks
    send(lease, done)
    fault = make_record(failed, suite=evaluation.suite.slug, outcome=Outcome.INFRA_FAULT)
    deliver(attempt_id=lease.attempt.pk, records=[fault], store=MemoryStore())
    leases.complete(lease.attempt.pk)
    sweep()
    evaluation.refresh_from_db()
    assert evaluation.state == EvaluationState.ON_HOLD
    assert "1 of 4 tasks" in evaluation.reason_text
    assert not Snapshot.objects.exists()
    assert services.resume(evaluation) == 1
    evaluation.refresh_from_db()
    assert (evaluation.state, evaluation.attempt) == (EvaluationState.QUEUED, 2)
    sweep()
    again = make_lease(evaluation)
    assert again.tasks == [failed]
    send(again, again.tasks)
    leases.complete(again.attempt.pk)
    sweep()
    evaluation.refresh_from_db()
    assert evaluation.state == EvaluationState.COMPLETED
    assert rows(evaluation)[failed] == ("scored", 0.5)
    assert Snapshot.objects.count() == 1


def test_an_evaluation_without_any_task_that_can_run_ends_too(launcher):
    evaluation = make_evaluation(suite=make_suite(runnable=0, not_run=2))
    sweep()
    evaluation.refresh_from_db()
    assert evaluation.state == EvaluationState.COMPLETED
