"""Evaluations that wait while a release with other rules, tasks or data is installed.

Its workers refuse them, so that they would wait and use up workers until their deadline.
"""

from datetime import timedelta

import pytest
from django.utils import timezone

from gpu_jobs.launchers.base import NoLauncher
from leaderboard.catalog.library import NotReadyError
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Attempt, Evaluation, EvaluationState
from leaderboard.evaluations.results.objects import server_store
from leaderboard.planners.models import Planner
from leaderboard.queue import reconcile
from leaderboard.queue.leasing import leases
from leaderboard.queue.workers.finishing import deliver
from leaderboard.quotas.models import QuotaEntry
from tests.fakes.evaluator import FakeEvaluator
from tests.leaderboard.factories import make_evaluation, make_lease, make_record

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store")]
NEW = "a" * 64


@pytest.fixture
def evaluation(monkeypatch) -> Evaluation:
    monkeypatch.setattr(reconcile, "launcher", NoLauncher)
    return make_evaluation(state=EvaluationState.LAUNCHING)


def upgrade(monkeypatch) -> None:
    """Install a release with other rules."""
    monkeypatch.setattr(FakeEvaluator, "rules_digest", lambda *_, **__: NEW)


def test_one_that_has_not_begun_is_measured_under_the_new_rules(evaluation, monkeypatch):
    reconcile.sweep()
    before = Evaluation.objects.get()
    upgrade(monkeypatch)
    reconcile.sweep()
    after = Evaluation.objects.get()
    assert before.profile_digest != NEW
    assert (after.profile_digest, after.provenance["profile_digest"]) == (NEW, NEW)
    assert (after.state, after.data_digest) == (EvaluationState.LAUNCHING, before.data_digest)
    assert make_lease(evaluation).evaluation.profile_digest == NEW


def test_workers_that_refuse_it_do_not_delay_that(evaluation, monkeypatch):
    upgrade(monkeypatch)
    leases.give_up(attempt_id=make_lease(evaluation).attempt.pk, how=leases.GivenUp.REFUSED, detail="other rules")
    reconcile.sweep()
    assert Evaluation.objects.get().profile_digest == NEW


def test_a_worker_of_the_old_release_may_finish_what_it_holds(evaluation, monkeypatch):
    lease = make_lease(evaluation)
    upgrade(monkeypatch)
    reconcile.sweep()
    found = Evaluation.objects.get()
    assert (found.state, found.profile_digest) == (EvaluationState.RUNNING, evaluation.profile_digest)
    finish(lease)
    reconcile.reconcile(evaluation.pk)
    assert Evaluation.objects.get().state == EvaluationState.COMPLETED


def finish(lease: leases.Lease) -> None:
    records = [make_record(key, suite=lease.evaluation.suite.slug) for key in lease.tasks]
    deliver(attempt_id=lease.attempt.pk, records=records, store=server_store(split=lease.evaluation.split))
    leases.complete(lease.attempt.pk)


def test_one_that_is_partly_measured_fails_with_a_sentence_and_costs_nothing(evaluation, monkeypatch, settings):
    settings.TASKS_PER_SHARD = 2
    evaluation = make_evaluation(state=EvaluationState.LAUNCHING)
    finish(make_lease(evaluation))
    upgrade(monkeypatch)
    # Workers of the old release may still be there.
    reconcile.reconcile(evaluation.pk)
    assert Evaluation.objects.get(pk=evaluation.pk).state == EvaluationState.RUNNING
    Attempt.objects.update(ended_at=timezone.now() - timedelta(hours=1))
    reconcile.reconcile(evaluation.pk)
    found = Evaluation.objects.get(pk=evaluation.pk)
    assert (found.state, found.reason, found.profile_digest) == ("failed", "other_rules", evaluation.profile_digest)
    assert "Please submit again" in found.reason_text
    assert sorted(found.results.values_list("outcome", flat=True)) == ["not_run", "not_run", "scored", "scored"]
    assert QuotaEntry.objects.filter(evaluation=evaluation, amount=-1).exists()


def test_one_of_tasks_that_are_asked_no_more_fails(evaluation):
    Suite.objects.update(current=False)
    reconcile.reconcile(evaluation.pk)
    assert Evaluation.objects.get().reason == "other_rules"


def test_it_waits_while_the_new_rules_cannot_be_read(evaluation, monkeypatch):
    def missing(*_, suite, **__):
        raise NotReadyError(suite=suite, why="the profile is missing")

    monkeypatch.setattr(FakeEvaluator, "rules_digest", missing)
    reconcile.sweep()
    found = Evaluation.objects.get()
    assert (found.state, found.profile_digest) == (EvaluationState.LAUNCHING, evaluation.profile_digest)


class TestFurtherRuns:
    """The first run is measured, and the planner would be asked again under other rules."""

    @pytest.fixture
    def first(self, evaluation, settings) -> Evaluation:
        settings.FURTHER_RUNS = 2
        Planner.objects.update(bundled_name="random-valid")
        measure(evaluation)
        assert again(evaluation).reason == "asked_again"
        return evaluation

    def test_runs_that_wait_fail_and_the_evaluation_completes_with_its_one_run_and_is_refunded(
        self, first, monkeypatch
    ):
        upgrade(monkeypatch)
        reconcile.sweep()
        reconcile.sweep()
        assert {(run.state, run.reason) for run in first.further_runs} == {("failed", "other_rules")}
        found = again(first)
        assert (found.state, found.profile_digest) == ("completed", first.profile_digest)
        report = found.summary["runs"]
        assert (report["verdict"], report["tasks"]) == ("one_run", 0)
        assert report["why"].endswith("The evaluation was refunded: please submit again.")
        assert sorted(QuotaEntry.objects.values_list("evaluation", "amount")) == [(first.pk, -1), (first.pk, 1)]

    def test_the_runs_that_have_ended_count(self, first, monkeypatch):
        second, third = first.further_runs
        measure(second)
        upgrade(monkeypatch)
        Attempt.objects.update(ended_at=timezone.now() - timedelta(hours=1))
        reconcile.sweep()
        reconcile.sweep()
        assert (again(second).state, again(third).reason) == ("completed", "other_rules")
        report = again(first).summary["runs"]
        assert (report["verdict"], report["runs"], report["tasks"]) == ("varies", 2, second.tasks_total)
        assert "was refunded" in report["why"]

    def test_a_worker_of_the_old_release_may_finish_a_run_and_nothing_is_refunded(self, first, monkeypatch):
        held = [make_lease(run) for run in first.further_runs]
        upgrade(monkeypatch)
        reconcile.sweep()
        for lease in held:
            finish(lease)
        reconcile.sweep()
        reconcile.sweep()
        report = again(first).summary["runs"]
        assert (report["verdict"], report["runs"], report["why"]) == ("varies", 3, "")
        assert not QuotaEntry.objects.filter(amount=-1).exists()


def measure(evaluation: Evaluation) -> None:
    """Work off all shards, as workers of the present release do."""
    reconcile.sweep()
    while lease := leases.lease(worker="w", evaluation_id=evaluation.pk):
        finish(lease)
    reconcile.sweep()


def again(evaluation: Evaluation) -> Evaluation:
    return Evaluation.runs.get(pk=evaluation.pk)
