"""Rank, citation, badge, results and previews of an evaluation."""

import csv
import io
import json
import re
from datetime import timedelta
from xml.etree import ElementTree

import pytest
from django.test import Client
from django.utils import timezone
from PIL import Image

from leaderboard.boards.services import publish
from leaderboard.boards.web.previews import HEIGHT, WIDTH
from leaderboard.evaluations.models import Evaluation, EvaluationState, TaskResult, Visibility
from leaderboard.evaluations.web.sharing.views import badge_of, place_on_board
from tests.leaderboard.evaluations.web.factories import (
    make_board,
    make_evaluation,
    make_planner,
    make_results,
    make_suite,
    make_user,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store")]


@pytest.fixture
def ranked() -> Evaluation:
    """The second of two planners on a board."""
    make_board()
    return Evaluation.objects.get(submission__planner__name="planner of bea")


def read(client: Client, evaluation: Evaluation, ending: str = "", *, status: int = 200) -> str:
    response = client.get(f"/evaluations/{evaluation.pk}/{ending}")
    assert response.status_code == status
    return response.getvalue().decode()


@pytest.fixture
def private() -> Evaluation:
    """Completed, and seen by its owner only."""
    found = make_evaluation(planner=make_planner(owner=make_user()), suite=make_suite())
    found.submission.visibility = Visibility.PRIVATE
    found.submission.save()
    return found


def owner_of(evaluation: Evaluation) -> Client:
    client = Client()
    client.force_login(evaluation.submission.submitted_by)
    return client


class TestRank:
    def test_it_leads_to_the_row(self, client: Client, ranked: Evaluation):
        html = read(client, ranked)
        address = re.search(r'<a href="(/boards/openagi/snapshots/2/#row-[^"]+)">2 of 2</a>', html)
        assert address is not None
        path, _, row = address[1].partition("#")
        assert f'id="{row}"' in client.get(path).content.decode()

    def test_neither_private_nor_hidden_evaluations_nor_replaced_runs_have_one(self, ranked: Evaluation):
        ranked.hidden_at = timezone.now()
        assert place_on_board(ranked) is None
        ranked.hidden_at = None
        assert place_on_board(ranked) is not None
        ranked.submission.visibility = Visibility.EMBARGO
        ranked.submission.embargo_until = timezone.now() + timedelta(days=1)
        assert place_on_board(ranked) is None
        ranked.refresh_from_db()
        newer = make_evaluation(planner=ranked.submission.planner, suite=ranked.suite, finished=timezone.now())
        publish(newer)
        assert (place_on_board(ranked), place_on_board(newer) is None) == (None, False)


class TestCitation:
    def test_commands_in_names_are_texts(self, client: Client):
        planner = make_planner(owner=make_user(), name="\\input{secret} & 100%")
        html = read(client, make_evaluation(planner=planner, suite=make_suite()))
        assert r"\textbackslash{}input\{secret\} \&amp; 100\%" in html

    def test_before_the_end_there_is_none(self, client: Client):
        planner = make_planner(owner=make_user())
        running = make_evaluation(planner=planner, suite=make_suite(), state=EvaluationState.RUNNING)
        html = read(client, running)
        assert "share-bibtex" not in html
        assert "results.csv" not in html
        for ending in ("results.csv", "archive.tar"):
            read(client, running, ending, status=404)


class TestBadge:
    def test_it_shows_score_and_rank_and_is_cached(self, client: Client, ranked: Evaluation):
        response = client.get(f"/evaluations/{ranked.pk}/badge.svg")
        root = ElementTree.fromstring(response.content)
        assert root.get("aria-label") == "PlanArena openagi: Overall 0.400, rank 2 of 2"
        assert response["Content-Type"].startswith("image/svg+xml")
        assert response["Cache-Control"] == "public, max-age=300"
        again = client.get(f"/evaluations/{ranked.pk}/badge.svg", headers={"If-None-Match": response["ETag"]})
        assert (again.status_code, again.content) == (304, b"")

    def test_what_is_not_public_has_none_not_even_for_its_owner(self, client: Client, private: Evaluation):
        owner = owner_of(private)
        for reader in (client, owner):
            read(reader, private, "badge.svg", status=404)
        assert "badge.svg" not in read(owner, private)

    def test_texts_are_escaped_and_cut(self):
        badge = badge_of(label="a<b", message='"&' + "x" * 200 + "\x00")
        root = ElementTree.fromstring(badge.svg)
        assert root.get("width") == str(badge.width)
        texts = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
        assert texts[0] == "a<b"
        assert len(texts[1]) == 80


class TestResults:
    def test_files_have_the_conditions_and_what_the_api_says_with_formulas_as_texts(
        self, client: Client, ranked: Evaluation
    ):
        make_results(ranked, upto=20)
        document = json.loads(read(client, ranked, "results.json"))
        assert document["format"] == "planarena-results/1"
        assert document["conditions"]["split"] == "public"
        listed = client.get(f"/api/v1/evaluations/{ranked.pk}/results/").json()["results"]
        assert document["results"] == listed
        lines = list(csv.DictReader(io.StringIO(read(client, ranked, "results.csv"))))
        assert {line["evaluation"] for line in lines} == {str(ranked.pk)}
        wanted = [(one["task"], one["score"]) for one in listed]
        assert [(line["task"], float(line["score"]) if line["score"] else None) for line in lines] == wanted
        TaskResult.objects.filter(evaluation=ranked).update(plan_summary="=HYPERLINK(1)")
        assert next(csv.DictReader(io.StringIO(read(client, ranked, "results.csv"))))["plan_summary"][0] == "'"


def properties(client: Client, address: str) -> dict[str, str]:
    html = client.get(address).content.decode()
    return dict(re.findall(r'<meta property="(og:[a-z:_]+)" content="([^"]*)">', html))


def size_of(data: bytes) -> tuple[int, int]:
    with Image.open(io.BytesIO(data)) as image:
        assert image.format == "PNG"
        return image.size


def test_boards_and_suites_have_title_description_and_picture(client: Client):
    suite, _ = make_board()
    for address in ("/boards/openagi/", "/suites/openagi/", "/boards/openagi/snapshots/2/"):
        found = properties(client, address)
        told = found["og:title"], found["og:description"], found["og:url"]
        assert told == (suite.title, suite.description, f"http://testserver{address}")
    response = client.get(found["og:image"].removeprefix("http://testserver"))
    assert size_of(response.content) == (WIDTH, HEIGHT)
    assert response["Cache-Control"] == "public, max-age=86400"
    again = client.get(found["og:image"], headers={"If-None-Match": response["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_evaluations_say_score_and_rank(client: Client):
    make_board()
    evaluation = Evaluation.objects.get(submission__planner__name="planner of bea")
    found = properties(client, f"/evaluations/{evaluation.pk}/")
    assert found["og:title"] == f"planner of bea on {evaluation.suite.title}"
    assert found["og:description"] == "Overall 0.400, rank 2 of 2"
    assert size_of(client.get(found["og:image"]).content) == (WIDTH, HEIGHT)


def test_what_is_not_public_has_neither_picture_nor_properties(client: Client):
    private = make_evaluation(planner=make_planner(owner=make_user()), suite=make_suite())
    private.submission.visibility = Visibility.PRIVATE
    private.submission.save()
    client.force_login(private.submission.submitted_by)
    assert client.get(f"/evaluations/{private.pk}/preview.png").status_code == 404
    assert properties(client, f"/evaluations/{private.pk}/") == {}


def test_names_in_properties_are_texts(client: Client):
    planner = make_planner(owner=make_user(), name='"><script>')
    evaluation = make_evaluation(planner=planner, suite=make_suite())
    assert "<script>" not in client.get(f"/evaluations/{evaluation.pk}/").content.decode().partition("</title>")[0]
