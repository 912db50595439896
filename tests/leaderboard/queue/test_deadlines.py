"""An attempt without progress is over after minutes, whatever the heartbeats of its worker say."""

from datetime import timedelta

import pytest
from django.utils import timezone

from evaluator.core.suites.base import Panel
from evaluator.execution.engine.store import MemoryStore
from gpu_jobs.contract import Phase
from gpu_jobs.heartbeats import CurrentPhase
from leaderboard.evaluations import deadlines
from leaderboard.evaluations.models import Attempt, AttemptState, Evaluation, EvaluationState, Loss
from leaderboard.queue import tasks
from leaderboard.queue.leasing import leases
from leaderboard.queue.reconcile import sweep
from leaderboard.queue.stopping import stop_hung_worker
from leaderboard.queue.workers.finishing import deliver
from tests.leaderboard.factories import make_evaluation, make_lease, make_record

pytestmark = pytest.mark.django_db


def left(lease: leases.Lease) -> float:
    """Seconds until the attempt is over if nothing happens."""
    stalls_at = Attempt.objects.get(pk=lease.attempt.pk).stalls_at
    assert stalls_at is not None
    return (stalls_at - timezone.now()).total_seconds()


def pass_time(lease: leases.Lease, *, seconds: float) -> None:
    """Let time pass in which the worker did nothing but send heartbeats."""
    attempt = Attempt.objects.get(pk=lease.attempt.pk)
    attempt.stalls_at -= timedelta(seconds=seconds)
    attempt.save(update_fields=["stalls_at"])
    leases.heartbeat(lease.attempt.pk, phase=Phase(attempt.phase))


@pytest.fixture
def running() -> Evaluation:
    return make_evaluation(state=EvaluationState.LAUNCHING)


@pytest.fixture
def lease(running) -> leases.Lease:
    return make_lease(running, worker="w")


def test_a_worker_that_sends_heartbeats_for_ever_loses_its_tasks(lease):
    allowed = lease.attempt.allowances[Phase.PREPARING]
    pass_time(lease, seconds=allowed - 10)
    with pytest.raises(leases.AttemptEndedError) as caught:
        pass_time(lease, seconds=20)
    assert caught.value.state == AttemptState.LOST
    attempt = Attempt.objects.get()
    assert (attempt.state, attempt.loss) == (AttemptState.LOST, Loss.STALLED)
    assert attempt.reason == "it made no progress for 5 minutes while it was preparing its tasks"
    evaluation = Evaluation.objects.get()
    assert (evaluation.reason, evaluation.state) == ("worker_lost", "running")
    assert attempt.reason in evaluation.reason_text
    assert make_lease(evaluation, worker="w").tasks == lease.tasks


def test_the_sweep_takes_the_tasks_although_the_lease_lasts(lease, launcher):
    Attempt.objects.update(stalls_at=timezone.now(), expires_at=timezone.now() + timedelta(hours=1))
    sweep()
    assert Attempt.objects.get(pk=lease.attempt.pk).loss == Loss.STALLED


def test_a_worker_that_fell_silent_before_its_deadline_has_not_stalled(lease, launcher):
    """As when the site was away for longer than a phase lasts."""
    now = timezone.now()
    Attempt.objects.update(expires_at=now - timedelta(minutes=10), stalls_at=now - timedelta(minutes=6))
    sweep()
    attempt = Attempt.objects.get(pk=lease.attempt.pk)
    assert (attempt.state, attempt.loss) == (AttemptState.LOST, Loss.SILENT)
    assert attempt.reason == "it lost contact with the site"


def test_a_result_gives_the_full_time_again(lease):
    leases.heartbeat(lease.attempt.pk, phase=Phase.PLANNING)
    pass_time(lease, seconds=200)
    before = left(lease)
    record = make_record(lease.tasks[0], suite=lease.evaluation.suite.slug)
    deliver(attempt_id=lease.attempt.pk, records=[record], store=MemoryStore())
    assert left(lease) > before + 190
    again = left(lease)
    pass_time(lease, seconds=100)
    deliver(attempt_id=lease.attempt.pk, records=[record], store=MemoryStore())
    assert left(lease) < again - 90, "the same result is no progress"


def test_each_phase_has_its_own_time_once(lease):
    assert left(lease) == pytest.approx(300, abs=5)
    leases.heartbeat(lease.attempt.pk, phase=Phase.FETCHING)
    assert left(lease) == pytest.approx(300, abs=5), "there is no model to fetch"
    leases.heartbeat(lease.attempt.pk, phase=Phase.PLANNING)
    assert left(lease) == pytest.approx(300 + 4 * 60, abs=5)
    leases.heartbeat(lease.attempt.pk, phase=Phase.EXECUTING)
    assert left(lease) == pytest.approx(300 + 4 * 300, abs=5)
    pass_time(lease, seconds=1000)
    for phase in Phase:
        leases.heartbeat(lease.attempt.pk, phase=phase)
    assert left(lease) < 600, "no phase comes twice"


@pytest.mark.parametrize(
    ("kind", "tasks", "expected"),
    [
        ("hub", 8, {Phase.FETCHING: 3600, Phase.LOADING: 900}),
        # Alone, as a canary, on a machine without a GPU.
        ("checkpoint", 1, {Phase.PLANNING: 300 + 900 + 60}),
        # All tries of a call.
        ("endpoint", 2, {Phase.PLANNING: 300 + 2 * 4 * 120}),
    ],
)
def test_kinds_of_planners_have_time_for_what_they_do(running, kind, tasks, expected):
    planner = running.submission.planner
    planner.kind, planner.timeout_seconds = kind, 100
    found = deadlines.allowances(evaluation=running, tasks=tasks)
    assert {phase: found[phase] for phase in expected} == expected


@pytest.mark.parametrize("how", ["hangs", "ended"])
def test_a_lost_worker_is_stopped_if_it_hangs_and_replaced_although_the_pool_has_others(
    how, lease, launcher, celery_messages, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        if how == "hangs":
            launcher.living.add("w")
            Attempt.objects.update(stalls_at=timezone.now())
            assert leases.lose_overdue(lease.attempt.pk)
        else:
            launcher.dead["w"] = "it used more memory than it may"
            assert leases.lose(attempt_id=lease.attempt.pk, detail="it ended", loss=Loss.ENDED)
    assert ("replace_worker", "w", str(lease.evaluation.pk)) in celery_messages
    tasks.replace_worker("w", str(lease.evaluation.pk))
    assert launcher.stopped == (["w"] if how == "hangs" else [])
    assert launcher.ensured == [str(lease.evaluation.pk)]


def test_a_pool_is_filled_again_for_others_where_the_evaluation_that_cost_the_worker_has_failed(lease, launcher):
    launcher.dead["w"] = "it used more memory than it may"
    Evaluation.objects.update(state=EvaluationState.FAILED)
    other = make_evaluation(state=EvaluationState.LAUNCHING)
    tasks.replace_worker("w", str(lease.evaluation.pk))
    assert launcher.ensured == [str(other.pk)]


def test_a_worker_that_has_moved_on_is_not_stopped(lease, launcher):
    launcher.living.add("w")
    Attempt.objects.update(stalls_at=timezone.now())
    assert leases.lose_overdue(lease.attempt.pk)
    make_lease(lease.evaluation, worker="w")
    assert not stop_hung_worker(worker="w", launching=launcher)
    assert launcher.stopped == []


def test_phases_only_go_forward():
    phase = CurrentPhase()
    phase.enter(Phase.PLANNING)
    phase.enter(Phase.LOADING)
    assert phase.now is Phase.PLANNING
    phase.begin()
    assert phase.now is Phase.PREPARING


@pytest.mark.parametrize("runs_experts", [True, False])
def test_episodes_have_their_time_while_planners_are_asked_and_tools_run_by_turns(runs_experts):
    """One phase for both: planners are asked again after tools have run."""
    whole = make_evaluation()
    whole.suite.conditions = {**whole.suite.conditions, "experts": runs_experts}
    before = deadlines.allowances(evaluation=whole, tasks=4)
    whole.suite.panels = [*whole.suite.panels, Panel.TRANSCRIPT]
    found = deadlines.allowances(evaluation=whole, tasks=4)
    assert Phase.EXECUTING not in found
    executing = before[Phase.EXECUTING] - before[Phase.PREPARING] if runs_experts else 0
    assert found[Phase.PLANNING] == before[Phase.PLANNING] + executing + 600
