"""Running again what has ended: a new submission, linked, charged, under today's conditions."""

import pytest

from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation, EvaluationState, Submission
from leaderboard.evaluations.visibility import NotPossibleError
from leaderboard.planners.models import Planner
from leaderboard.queue.steps import fail_overdue
from leaderboard.queue.workers.own import runs_on_own_worker
from leaderboard.quotas.models import QuotaBalance, QuotaEntry
from leaderboard.quotas.services import QuotaExceededError
from leaderboard.submissions import services
from leaderboard.submissions.actions import rerun
from leaderboard.submissions.services import submit_for_own_worker
from tests.leaderboard.factories import let_time_pass, make_evaluation, make_suite, make_user, planner_data
from tests.leaderboard.platform.api.helpers import client_of
from tests.leaderboard.suites import EXECUTED

pytestmark = pytest.mark.django_db


def cancelled(**options) -> Evaluation:
    evaluation = make_evaluation(**options)
    services.cancel(evaluation)
    evaluation.refresh_from_db()
    return evaluation


def test_a_rerun_is_a_new_submission_of_the_same_planner_under_todays_conditions(settings):
    settings.SAMPLES = 2
    first = cancelled()
    settings.SAMPLES = 5
    Submission.objects.filter(pk=first.submission_id).update(version="3f2a9c1")
    first.refresh_from_db()
    again = rerun(first, by=first.submission.submitted_by).evaluations.get()
    assert again.submission.rerun_of == first
    assert again.submission.planner == first.submission.planner
    assert again.submission.version == "3f2a9c1"
    assert (first.samples, again.samples) == (2, 5)
    assert again.state == EvaluationState.QUEUED
    assert again.shards.count() == first.shards.count() > 0
    first.refresh_from_db()
    assert first.state == EvaluationState.CANCELLED
    assert Planner.objects.count() == 1


def test_it_runs_on_the_suite_s_present_version():
    first = cancelled(suite=make_suite(slug="old"))
    Suite.objects.filter(slug="old").update(current=False)
    with pytest.raises(NotPossibleError, match="cannot be submitted to any more"):
        rerun(first, by=first.submission.submitted_by)
    newer = Suite.objects.create(
        slug="old", version="2", digest="d" * 64, title="new", metrics=first.suite.metrics, description="", **EXECUTED
    )
    assert rerun(first, by=first.submission.submitted_by).evaluations.get().suite == newer


def test_what_failed_is_run_again_and_what_is_under_way_is_not():
    evaluation = make_evaluation()
    owner = evaluation.submission.submitted_by
    with pytest.raises(NotPossibleError, match="only one that has ended can be run again"):
        rerun(evaluation, by=owner)
    let_time_pass(evaluation)
    fail_overdue(evaluation)
    assert rerun(evaluation, by=owner).evaluations.get().state == EvaluationState.QUEUED


def test_it_is_charged_like_any_other(settings):
    settings.QUOTA_PER_DAY = 1
    settings.QUOTA_PER_SUITE_AND_DAY = 1
    first = cancelled()
    owner = first.submission.submitted_by
    rerun(first, by=owner)
    assert set(QuotaBalance.objects.values_list("used", flat=True)) == {1}
    with pytest.raises(QuotaExceededError):
        rerun(first, by=owner)
    assert Submission.objects.count() == 2


def test_on_the_owner_s_behalf_nobody_is_charged_and_it_is_theirs():
    first = cancelled()
    operator = make_user()
    charged = QuotaEntry.objects.count()
    again = rerun(first, by=operator, for_owner=True)
    assert again.submitted_by == first.submission.submitted_by
    assert QuotaEntry.objects.count() == charged


def test_what_ran_on_an_own_worker_runs_there_again():
    owner = make_user()
    data = services.SubmissionData(planner=planner_data(), suites=[make_suite().slug])
    first = submit_for_own_worker(services.validate(user=owner, data=data)).evaluations.get()
    services.cancel(first)
    assert runs_on_own_worker(rerun(first, by=owner).evaluations.get().pk)


def test_a_planner_that_could_not_be_entered_today_is_not_run_again():
    first = cancelled()
    Planner.objects.update(bundled_name="retired")
    with pytest.raises(NotPossibleError, match="could not be submitted like this today"):
        rerun(first, by=first.submission.submitted_by)
    assert Submission.objects.count() == 1


def test_page_and_api_make_a_new_submission_and_both_name_each_other(client):
    first = cancelled()
    api = client_of(first.submission.submitted_by)
    answer = api.post(f"evaluations/{first.pk}/rerun/")
    assert answer.status_code == 201
    made = answer.json()
    assert made["rerun_of"] == made["evaluations"][0]["rerun_of"] == str(first.pk)
    assert api.get(f"evaluations/{first.pk}/").json()["reruns"] == [made["id"]]
    assert api.get(f"evaluations/{made['evaluations'][0]['id']}/").json()["reruns"] == []
    client.force_login(first.submission.submitted_by)
    assert b"Run it again" in client.get(f"/evaluations/{first.pk}/").content
    page = client.post(f"/evaluations/{first.pk}/rerun/", follow=True)
    again = Submission.objects.latest("created").evaluations.get()
    assert page.redirect_chain == [(f"/evaluations/{again.pk}/", 302)]
    assert "Re-run of" in page.content.decode()
    assert f"/evaluations/{first.pk}/" in page.content.decode()
    before = client.get(f"/evaluations/{first.pk}/").content.decode()
    assert "Re-runs" in before
    assert f"/evaluations/{again.pk}/" in before
