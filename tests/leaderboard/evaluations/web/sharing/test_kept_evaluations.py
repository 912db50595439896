"""Pages of public evaluations that have ended are kept for a moment; nobody sees more by that."""

import time
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from leaderboard.boards.web.page_cache import forget_pages
from leaderboard.evaluations.models import Evaluation, EvaluationState, Submission, Visibility
from tests.leaderboard.evaluations.web.factories import make_evaluation, make_planner, make_suite, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def keeping(settings):
    settings.KEEP_PAGES_SECONDS = 60.0
    forget_pages()
    yield
    forget_pages()


@pytest.fixture
def evaluation() -> Evaluation:
    return make_evaluation(planner=make_planner(owner=make_user()), suite=make_suite())


def address(evaluation: Evaluation) -> str:
    return f"/evaluations/{evaluation.pk}/"


def status_of(evaluation: Evaluation) -> int:
    return Client().get(address(evaluation)).status_code


def test_the_second_stranger_costs_no_query(evaluation, django_assert_num_queries):
    first = Client().get(address(evaluation))
    with django_assert_num_queries(0):
        assert Client().get(address(evaluation)).content == first.content


def test_what_is_not_public_is_never_kept(evaluation):
    owner = Client()
    owner.force_login(evaluation.submission.planner.owner)
    for visibility, until in ((Visibility.PRIVATE, None), (Visibility.EMBARGO, timezone.now() + timedelta(days=2))):
        Submission.objects.filter(pk=evaluation.submission_id).update(visibility=visibility, embargo_until=until)
        assert owner.get(address(evaluation)).status_code == 200
        assert (status_of(evaluation), status_of(evaluation)) == (404, 404)


def test_one_that_becomes_private_is_gone_after_that_moment(evaluation, settings, monkeypatch):
    assert status_of(evaluation) == 200
    Submission.objects.filter(pk=evaluation.submission_id).update(visibility=Visibility.PRIVATE)
    later = time.monotonic() + settings.KEEP_PAGES_SECONDS + 1
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert [status_of(evaluation) for _ in range(3)] == [404, 404, 404]


def test_one_that_runs_is_read_anew():
    planner, state = make_planner(owner=make_user()), EvaluationState.RUNNING
    evaluation = make_evaluation(planner=planner, suite=make_suite(), state=state, reason_text="Workers run it.")
    assert b"Workers run it." in Client().get(address(evaluation)).content
    Evaluation.objects.filter(pk=evaluation.pk).update(reason_text="Something else.")
    assert b"Something else." in Client().get(address(evaluation)).content
