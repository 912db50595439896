"""Shared caches may keep the pages of public evaluations that have ended, for strangers only."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from leaderboard.evaluations.models import Evaluation, EvaluationState, Submission, Visibility
from tests.leaderboard.evaluations.web.factories import make_evaluation, make_planner, make_suite, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def sharing(settings):
    settings.KEEP_PAGES_SECONDS = 1.0


@pytest.fixture
def evaluation() -> Evaluation:
    return make_evaluation(planner=make_planner(owner=make_user()), suite=make_suite())


def shared(evaluation: Evaluation, *, by: Client | None = None) -> tuple[int, bool]:
    """Status of the page, and whether a shared cache may keep it."""
    answer = (by or Client()).get(f"/evaluations/{evaluation.pk}/")
    return answer.status_code, "public" in answer.get("Cache-Control", "")


def test_the_page_of_a_public_one_is_shared_by_strangers_and_private_to_its_owner(evaluation):
    owner = Client()
    owner.force_login(evaluation.submission.planner.owner)
    assert (shared(evaluation), shared(evaluation, by=owner)) == ((200, True), (200, False))


def test_one_that_is_not_public_is_never_shared(evaluation):
    owner = Client()
    owner.force_login(evaluation.submission.planner.owner)
    for visibility, until in ((Visibility.PRIVATE, None), (Visibility.EMBARGO, timezone.now() + timedelta(days=2))):
        Submission.objects.filter(pk=evaluation.submission_id).update(visibility=visibility, embargo_until=until)
        assert (shared(evaluation, by=owner), shared(evaluation)) == ((200, False), (404, False))


def test_one_that_runs_is_not_shared():
    planner, state = make_planner(owner=make_user()), EvaluationState.RUNNING
    assert shared(make_evaluation(planner=planner, suite=make_suite(), state=state)) == (200, False)
