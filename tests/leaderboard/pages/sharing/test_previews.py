"""What links to boards and evaluations are shown with."""

import io
import re

import pytest
from django.test import Client
from PIL import Image

from leaderboard.boards.pages.preview_drawing import HEIGHT, WIDTH
from leaderboard.evaluations.models import Evaluation, Visibility
from tests.leaderboard.pages.factories import make_board, make_evaluation, make_planner, make_suite, make_user

pytestmark = pytest.mark.django_db


def properties(client: Client, address: str) -> dict[str, str]:
    html = client.get(address).content.decode()
    return dict(re.findall(r'<meta property="(og:[a-z:_]+)" content="([^"]*)">', html))


def size_of(data: bytes) -> tuple[int, int]:
    with Image.open(io.BytesIO(data)) as image:
        assert image.format == "PNG"
        return image.size


@pytest.mark.parametrize("address", ["/boards/openagi/", "/suites/openagi/", "/boards/openagi/snapshots/2/"])
def test_boards_and_suites_have_title_description_and_picture(client: Client, address: str):
    suite, _ = make_board()
    found = properties(client, address)
    assert found["og:title"] == suite.title
    assert found["og:description"] == suite.description
    assert found["og:url"] == f"http://testserver{address}"
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
