"""What is read of a board is kept for strangers as long as pages are, whatever their addresses filter."""

import time

import pytest
from django.test import Client

from leaderboard.boards.services import publish
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation, Submission
from tests.leaderboard.evaluations.web.factories import make_evaluation, make_planner, make_suite, make_user, read

pytestmark = pytest.mark.django_db
BOARD = "/boards/openagi/"


@pytest.fixture
def evaluation(settings) -> Evaluation:
    settings.KEEP_PAGES_SECONDS = 60.0
    found = make_evaluation(planner=make_planner(owner=make_user("ada"), name="one"), suite=make_suite())
    publish(found)
    make_evaluation(planner=make_planner(owner=make_user("bea"), name="under way"), suite=found.suite, state="running")
    return found


def test_another_query_of_a_stranger_asks_the_database_for_nothing(
    client: Client, evaluation: Evaluation, django_assert_num_queries
):
    for query in ("", "?rows=all"):
        assert "under way" in read(client, BOARD + query)
    with django_assert_num_queries(0):
        assert "under way" in read(client, f"{BOARD}?sort=planner")
        assert "under way" in read(client, f"{BOARD}?rows=all&sort=-planner")
        assert "No planner matches" in read(client, f"{BOARD}?q=nothing-like-it")


def test_what_has_changed_is_shown_when_the_moment_is_over(client: Client, evaluation: Evaluation, monkeypatch):
    read(client, BOARD)
    Suite.objects.update(title="Another title")
    assert "Another title" not in read(client, f"{BOARD}?sort=planner")
    later = time.monotonic() + 61
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert "Another title" in read(client, f"{BOARD}?sort=-planner")
    assert "Another title" in read(client, f"{BOARD}?sort=planner"), "no page is older than what it shows"


def test_readers_who_are_signed_in_share_nothing(client: Client, evaluation: Evaluation):
    Submission.objects.exclude(pk=evaluation.submission_id).update(visibility="private")
    bea = Client()
    bea.force_login(Submission.objects.exclude(pk=evaluation.submission_id).get().submitted_by)
    for query in ("?sort=planner", "?sort=-planner"):
        assert "under way" in read(bea, BOARD + query)
        assert "under way" not in read(client, BOARD + query)
    Suite.objects.update(title="Another title")
    assert "Another title" in read(bea, f"{BOARD}?sort=planner")
