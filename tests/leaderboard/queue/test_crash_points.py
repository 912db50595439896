"""Whatever dies, and at whatever point, the sweep brings the evaluation to the same end.

No Celery message is ever delivered in these tests: each of them is also a test of lost messages.
"""

from collections.abc import Callable

import pytest
from django.utils import timezone

from evaluator.engine.store import MemoryStore
from leaderboard.boards.models import Snapshot
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.queue import steps
from leaderboard.queue.leasing import leases
from leaderboard.queue.reconcile import sweep
from leaderboard.queue.workers.finishing import deliver
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


def nothing_happened_after_submitting(evaluation: Evaluation) -> None:
    """The message was lost."""


def the_launching_process_died_before_it_started_a_worker(evaluation: Evaluation) -> None:
    assert steps.launch(evaluation)


def the_worker_died_with_its_lease(evaluation: Evaluation) -> None:
    sweep()
    expire(make_lease(evaluation))


def the_worker_died_after_some_results(evaluation: Evaluation) -> None:
    sweep()
    lease = make_lease(evaluation)
    send(lease, lease.tasks[:2])
    expire(lease)


def the_worker_died_before_it_said_that_it_was_done(evaluation: Evaluation) -> None:
    sweep()
    lease = make_lease(evaluation)
    send(lease, lease.tasks)
    expire(lease)


def nobody_noticed_that_all_shards_were_done(evaluation: Evaluation) -> None:
    sweep()
    run(evaluation)


def the_aggregating_process_died(evaluation: Evaluation) -> None:
    sweep()
    run(evaluation)
    evaluation.refresh_from_db()
    assert steps.aggregate(evaluation)


CRASHES = [
    nothing_happened_after_submitting,
    the_launching_process_died_before_it_started_a_worker,
    the_worker_died_with_its_lease,
    the_worker_died_after_some_results,
    the_worker_died_before_it_said_that_it_was_done,
    nobody_noticed_that_all_shards_were_done,
    the_aggregating_process_died,
]


def run(evaluation: Evaluation) -> None:
    """A worker that lives."""
    while lease := leases.lease(worker="w", evaluation_id=evaluation.pk):
        send(lease, lease.tasks)
        leases.complete(lease.attempt.pk)


@pytest.mark.parametrize("crash", CRASHES)
def test_after_a_crash_the_evaluation_ends_as_without_one(crash: Callable[[Evaluation], None], launcher):
    evaluation = make_evaluation(suite=make_suite(runnable=5, not_run=1))
    crash(evaluation)
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


def test_one_broken_evaluation_does_not_keep_the_others_from_moving_on(launcher, settings):
    broken, sound = make_evaluation(), make_evaluation()
    settings.LAUNCHER = f"{__name__}.launcher_that_breaks_once"
    _BROKEN[:] = [str(broken.pk)]
    sweep()
    sound.refresh_from_db()
    assert sound.state == EvaluationState.LAUNCHING
    assert sound.launch_handle


_BROKEN: list[str] = []


def launcher_that_breaks_once():
    from tests.fakes.launcher import fake_launcher

    class Breaking(type(fake_launcher())):
        def ensure(self, *, evaluation_id: str) -> str:
            if evaluation_id in _BROKEN:
                raise RuntimeError("a defect of the launcher")
            return super().ensure(evaluation_id=evaluation_id)

    return Breaking()
