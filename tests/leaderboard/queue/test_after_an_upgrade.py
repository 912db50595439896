"""Evaluations that wait while a release with other rules, tasks or data is installed.

Its workers refuse them, so that they would wait and use up workers until their deadline.
"""

from datetime import timedelta

import pytest
from django.utils import timezone

from evaluator.execution.engine.store import MemoryStore
from gpu_jobs.launchers.base import NoLauncher
from leaderboard.catalog.library import NotReadyError
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Attempt, Evaluation, EvaluationState
from leaderboard.queue import reconcile
from leaderboard.queue.leasing import leases
from leaderboard.queue.workers.finishing import deliver
from leaderboard.quotas.models import QuotaEntry
from tests.fakes.evaluator import FakeEvaluator
from tests.leaderboard.factories import make_evaluation, make_lease, make_record

pytestmark = pytest.mark.django_db
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
    deliver(attempt_id=lease.attempt.pk, records=records, store=MemoryStore())
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
