"""The ledger: never more than the limit, refunded exactly once."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from evaluator.core.records import Outcome
from evaluator.execution.engine.store import MemoryStore
from leaderboard.evaluations.models import Evaluation, EvaluationReason, EvaluationState, Submission
from leaderboard.queue import steps
from leaderboard.queue.leasing import leases
from leaderboard.queue.reconcile import sweep
from leaderboard.queue.workers.finishing import deliver
from leaderboard.quotas.models import ALL_SUITES, EntryReason, QuotaBalance, QuotaEntry
from leaderboard.quotas.services import NOT_THE_PLANNERS, OWN_FAULT, QuotaExceededError, quotas_of, refund_reason
from leaderboard.submissions import services
from tests.leaderboard.factories import (
    let_time_pass,
    make_evaluation,
    make_lease,
    make_record,
    make_suite,
    make_user,
    planner_data,
)
from tests.leaderboard.threads import in_threads


@pytest.fixture(autouse=True)
def _limits(settings):
    settings.QUOTA_PER_SUITE_AND_DAY = 2
    settings.QUOTA_PER_DAY = 3


def used(user) -> dict[str, int]:
    return {quota.suite: quota.used for quota in quotas_of(user=user, suites=[])} | dict(
        QuotaBalance.objects.filter(user=user).values_list("suite", "used")
    )


def ledger(evaluation: Evaluation) -> list[tuple[int, str]]:
    return list(QuotaEntry.objects.filter(evaluation=evaluation).order_by("pk").values_list("amount", "reason"))


@pytest.mark.django_db
class TestLimits:
    def test_a_user_has_a_quota_of_each_suite_and_of_all_for_a_day_or_none(self, settings, monkeypatch):
        user, suite = make_user(), make_suite()
        for _ in range(2):
            make_evaluation(user=user, suite=suite)
        with pytest.raises(QuotaExceededError, match=f"all 2 evaluations of the suite {suite.slug}"):
            make_evaluation(user=user, suite=suite)
        make_evaluation(user=user)
        with pytest.raises(QuotaExceededError, match="all 3 evaluations that a user may submit in a day"):
            make_evaluation(user=user)
        make_evaluation(suite=suite)
        assert used(user)[ALL_SUITES] == 3
        tomorrow = timezone.now() + timedelta(days=1)
        monkeypatch.setattr("leaderboard.quotas.services.timezone.now", lambda: tomorrow)
        make_evaluation(user=user, suite=suite)
        settings.QUOTA_PER_SUITE_AND_DAY = settings.QUOTA_PER_DAY = 0
        for _ in range(5):
            make_evaluation(user=user, suite=suite)
        assert quotas_of(user=user, suites=[])[0].limit is None

    def test_a_submission_that_is_refused_leaves_nothing_behind(self, settings):
        settings.QUOTA_PER_DAY = 1
        user, suites = make_user(), sorted([make_suite().slug, make_suite().slug])
        valid = services.validate(user=user, data=services.SubmissionData(planner=planner_data(), suites=suites))
        with pytest.raises(QuotaExceededError):
            services.submit(valid)
        assert not Submission.objects.exists()
        assert not QuotaEntry.objects.exists()
        assert used(user) == {ALL_SUITES: 0}

    def test_refunds_do_not_let_anybody_submit_without_end(self, settings):
        settings.QUOTA_PER_DAY = 1
        user, suite = make_user(), make_suite()
        for _ in range(3):
            services.cancel(make_evaluation(user=user, suite=suite))
        with pytest.raises(QuotaExceededError):
            make_evaluation(user=user, suite=suite)


def at_once(submit: Callable[[], object], *, count: int, refused: type[Exception]) -> tuple[int, int]:
    """How many of so many simultaneous submissions are accepted, and how many refused."""
    ends: list[bool] = []

    def one() -> None:
        try:
            submit()
        except refused:
            ends.append(False)
        else:
            ends.append(True)

    assert in_threads(one, count=count) == []
    return ends.count(True), ends.count(False)


@pytest.mark.django_db(transaction=True)
def test_simultaneous_submissions_never_exceed_the_quota(settings):
    settings.QUOTA_PER_SUITE_AND_DAY = settings.QUOTA_PER_DAY = 3
    user, suite = make_user(), make_suite()
    assert at_once(lambda: make_evaluation(user=user, suite=suite), count=6, refused=QuotaExceededError) == (3, 3)
    assert Evaluation.objects.count() == 3
    assert used(user) == {ALL_SUITES: 3, suite.slug: 3}


@pytest.mark.django_db
class TestRefunds:
    def run(self, evaluation: Evaluation, outcome: Outcome) -> None:
        lease = make_lease(evaluation)
        slug = evaluation.suite.slug
        records = [make_record(task, suite=slug, outcome=outcome) for task in lease.tasks]
        deliver(attempt_id=lease.attempt.pk, records=records, store=MemoryStore())
        leases.complete(lease.attempt.pk)

    def test_what_is_cancelled_before_anything_ran_is_refunded(self):
        evaluation = make_evaluation()
        services.cancel(evaluation)
        assert ledger(evaluation) == [(1, EntryReason.SUBMITTED), (-1, EntryReason.NOTHING_RAN)]
        assert set(used(evaluation.submission.submitted_by).values()) == {0}
        entry = QuotaEntry.objects.get(amount=-1)
        entry.pk = None
        with pytest.raises(IntegrityError), transaction.atomic():
            entry.save()

    def test_what_no_worker_took_is_refunded_and_what_is_cancelled_after_one_did_is_not(self, launcher):
        untaken, taken = make_evaluation(), make_evaluation(state=EvaluationState.LAUNCHING)
        let_time_pass(untaken)
        assert steps.fail_overdue(untaken)
        make_lease(taken)
        services.cancel(taken)
        assert ledger(untaken)[1:] == [(-1, EntryReason.NOT_THE_PLANNERS_FAULT)]
        assert ledger(taken) == [(1, EntryReason.SUBMITTED)]

    def test_infra_faults_are_refunded_once_however_often_they_come_back(self, launcher):
        evaluation = make_evaluation(state=EvaluationState.LAUNCHING)
        self.run(evaluation, Outcome.INFRA_FAULT)
        sweep()
        assert ledger(evaluation) == [(1, EntryReason.SUBMITTED), (-1, EntryReason.NOT_THE_PLANNERS_FAULT)]
        services.resume(evaluation)
        sweep()
        self.run(evaluation, Outcome.INFRA_FAULT)
        sweep()
        evaluation.refresh_from_db()
        assert evaluation.state == EvaluationState.ON_HOLD
        services.cancel(evaluation)
        assert len(ledger(evaluation)) == 2


def test_only_ends_that_are_not_the_planner_s_are_refunded():
    for reason in EvaluationReason:
        asked = partial(refund_reason, reason=reason)
        assert asked(target=EvaluationState.COMPLETED, anything_ran=True) is None
        assert asked(target=EvaluationState.CANCELLED, anything_ran=True) is None
        assert asked(target=EvaluationState.CANCELLED, anything_ran=False) == EntryReason.NOTHING_RAN
        failed, held = (asked(target=EvaluationState(one), anything_ran=True) for one in ("failed", "on_hold"))
        assert (failed is None) == (reason in OWN_FAULT), reason
        assert (held is None) == (reason not in NOT_THE_PLANNERS), reason
