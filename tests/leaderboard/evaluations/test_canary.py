"""The canary: one task runs first, alone, and what it comes to decides about the others."""

import pytest

from evaluator.engine.store import MemoryStore
from evaluator.records import Outcome, Reason
from leaderboard.evaluations import canary, leases, services, steps, tasks
from leaderboard.evaluations.canary import Ending, Verdict, judge
from leaderboard.evaluations.models import Evaluation, EvaluationState, Shard
from leaderboard.evaluations.reconcile import reconcile, sweep
from leaderboard.evaluations.results import deliver
from leaderboard.quotas.models import QuotaEntry
from tests.leaderboard.factories import expire, make_lease, make_record, make_submission, make_suite, rows

TIMEOUT = Ending(Outcome.PLANNER_FAULT, Reason.PLANNER_TIMEOUT)
NOT_JSON = Ending(Outcome.PLANNER_FAULT, Reason.INVALID_RESPONSE)
SCORED = Ending(Outcome.SCORED, "")


class TestJudging:
    @pytest.mark.parametrize("reason", sorted(set(Reason) - canary.BROKEN))
    @pytest.mark.parametrize("outcome", [Outcome.PLANNER_FAULT, Outcome.INFRA_FAULT])
    def test_whoever_answers_is_measured_whatever_the_plan_is_worth(self, outcome, reason):
        assert judge([[Ending(outcome, reason)]]) is Verdict.FAN_OUT

    @pytest.mark.parametrize("reason", sorted(canary.BROKEN))
    def test_whoever_does_not_answer_is_asked_twice(self, reason):
        silent = [Ending(Outcome.PLANNER_FAULT, reason)]
        assert judge([silent]) is Verdict.ASK_AGAIN
        assert judge([silent, silent]) is Verdict.BROKEN
        assert judge([silent, [SCORED]]) is Verdict.FAN_OUT

    def test_two_different_faults_do_not_prove_that_all_would_fail(self):
        assert judge([[TIMEOUT], [NOT_JSON]]) is Verdict.FAN_OUT

    def test_of_several_tasks_all_must_fail(self):
        assert judge([[TIMEOUT, SCORED]]) is Verdict.FAN_OUT
        assert judge([[TIMEOUT, TIMEOUT]]) is Verdict.ASK_AGAIN

    def test_a_canary_without_results_holds_nothing_back(self):
        assert judge([[]]) is Verdict.FAN_OUT


def make(*, runnable: int = 6, endpoint: bool = True) -> Evaluation:
    """An evaluation of a planner behind HTTP that is launching, with two tasks per shard."""
    planner = {"kind": "endpoint", "bundled_name": "", "endpoint_url": "https://planner.example.org/plan"}
    submission = make_submission(suite=make_suite(runnable=runnable, not_run=1), **(planner if endpoint else {}))
    steps.launch(submission.evaluations.get())
    return submission.evaluations.get()


def work(evaluation: Evaluation, *endings: Ending) -> list[str]:
    """Run the next shard; its tasks end as told, or are scored."""
    lease = make_lease(evaluation)
    records = []
    for number, task in enumerate(lease.tasks):
        ending = endings[number] if number < len(endings) else SCORED
        record = make_record(task, suite=evaluation.suite.slug, outcome=Outcome(ending.outcome), score=0.0)
        if ending.reason:
            record = record.model_copy(update={"reason": Reason(ending.reason), "reason_text": f"Said {task}."})
        records.append(record)
    deliver(attempt_id=lease.attempt.pk, records=records, store=MemoryStore())
    leases.complete(lease.attempt.pk)
    evaluation.refresh_from_db()
    return lease.tasks


@pytest.mark.django_db
class TestRunning:
    @pytest.fixture(autouse=True)
    def _two_tasks_per_shard(self, settings, launcher):
        settings.TASKS_PER_SHARD = 2

    def test_the_first_task_runs_alone_and_then_the_others(self):
        evaluation = make()
        first = make_lease(evaluation)
        evaluation.refresh_from_db()
        assert first.tasks == ["0"]
        assert evaluation.reason == "canary"
        assert leases.lease(worker="another") is None
        leases.give_up(attempt_id=first.attempt.pk, how=leases.GivenUp.RELEASED, detail="it was stopped")
        assert work(evaluation) == ["0"]
        assert (evaluation.leasable_shards, evaluation.reason) == (None, "running")
        assert [make_lease(evaluation).tasks for _ in range(3)] == [["1"], ["2", "3"], ["4", "5"]]

    def test_the_workers_of_a_broken_planner_are_stopped(self, monkeypatch, django_capture_on_commit_callbacks):
        asked: list[str] = []
        monkeypatch.setattr(tasks.stop_workers, "apply_async", lambda args, retry: asked.extend(args))
        evaluation = make()
        with django_capture_on_commit_callbacks(execute=True):
            work(evaluation, NOT_JSON)
        assert asked == []
        with django_capture_on_commit_callbacks(execute=True):
            work(evaluation, NOT_JSON)
        assert asked == [str(evaluation.pk)]

    def test_a_broken_planner_fails_after_two_tasks_with_what_it_answered(self):
        evaluation = make()
        work(evaluation, NOT_JSON)
        assert (evaluation.state, evaluation.reason) == ("running", "second_canary")
        assert "Said 0." in evaluation.reason_text
        assert work(evaluation, NOT_JSON) == ["1"]
        assert (evaluation.state, evaluation.reason) == ("failed", "canary_failed")
        assert "Said 1." in evaluation.reason_text
        assert leases.lease(worker="w") is None
        assert list(QuotaEntry.objects.values_list("amount", flat=True)) == [1], "its own fault is not refunded"

    def test_the_second_task_runs_alone_too(self):
        evaluation = make()
        work(evaluation, TIMEOUT)
        second = make_lease(evaluation)
        assert second.tasks == ["1"]
        assert leases.lease(worker="another") is None
        evaluation.refresh_from_db()
        assert evaluation.reason == "second_canary"

    def test_a_planner_that_answers_the_second_time_runs_fully(self):
        evaluation = make()
        work(evaluation, TIMEOUT)
        work(evaluation)
        work(evaluation)
        work(evaluation)
        sweep()
        evaluation.refresh_from_db()
        assert evaluation.state == EvaluationState.COMPLETED
        assert rows(evaluation)["0"] == ("planner_fault", 0.0)

    @pytest.mark.parametrize("reason", [Reason.INVALID_PLAN, Reason.UNPARSABLE_PLAN, Reason.LIMIT_EXCEEDED])
    def test_a_planner_whose_plans_are_bad_runs_fully(self, reason):
        evaluation = make()
        work(evaluation, Ending(Outcome.PLANNER_FAULT, reason))
        assert evaluation.leasable_shards is None

    def test_an_infra_fault_is_tried_again_before_the_others_follow(self, settings):
        settings.SHARD_TRIES = 2
        evaluation = make()
        away = Ending(Outcome.INFRA_FAULT, Reason.ENDPOINT_UNAVAILABLE)
        work(evaluation, away)
        assert (evaluation.reason, list(rows(evaluation))) == ("canary_retry", ["x0"])
        assert "Said 0." in evaluation.reason_text
        assert leases.lease(worker="w") is None, "it waits a little"
        Shard.objects.update(available_at=evaluation.created)
        work(evaluation, away)
        assert rows(evaluation)["0"] == ("infra_fault", None)
        assert evaluation.leasable_shards is None
        assert work(evaluation) == ["1"]

    def test_a_canary_that_loses_every_worker_opens_the_others(self, settings):
        settings.SHARD_TRIES = 1
        evaluation = make()
        expire(make_lease(evaluation))
        sweep()
        assert rows(evaluation)["0"] == ("infra_fault", None)
        assert make_lease(evaluation).tasks == ["1"]

    def test_what_its_worker_did_not_settle_the_reconciler_does(self, monkeypatch):
        evaluation = make()
        monkeypatch.setattr(leases.canary, "settle", lambda evaluation: False)
        work(evaluation)
        monkeypatch.undo()
        assert evaluation.leasable_shards == 1
        assert reconcile(evaluation.pk) is True
        evaluation.refresh_from_db()
        assert evaluation.leasable_shards is None
        assert steps.settle_canary(evaluation) is False

    def test_what_is_resumed_needs_no_canary(self):
        evaluation = make()
        broken = Ending(Outcome.INFRA_FAULT, Reason.EXPERT_FAILED)
        work(evaluation)
        for _ in range(3):
            work(evaluation, broken, broken)
        sweep()
        services.resume(evaluation)
        sweep()
        assert [make_lease(evaluation).tasks for _ in range(3)] == [["1", "2"], ["3", "4"], ["5"]]


@pytest.mark.django_db
class TestWithout:
    def test_a_bundled_planner_has_none(self, settings):
        settings.TASKS_PER_SHARD = 2
        evaluation = make(endpoint=False)
        assert [make_lease(evaluation).tasks for _ in range(3)] == [["0", "1"], ["2", "3"], ["4", "5"]]

    def test_what_fits_into_one_shard_has_none(self):
        evaluation = make(runnable=5)
        assert make_lease(evaluation).tasks == ["0", "1", "2", "3", "4"]

    def test_the_operator_can_switch_it_off(self, settings):
        settings.TASKS_PER_SHARD, settings.CANARY_TASKS = 2, 0
        assert make_lease(make()).tasks == ["0", "1"]
