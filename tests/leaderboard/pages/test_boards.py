"""The board pages."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from leaderboard.boards.services import publish
from tests.leaderboard.pages.factories import (
    make_board,
    make_evaluation,
    make_planner,
    make_summary,
    make_user,
)

pytestmark = pytest.mark.django_db
BOARD = "/boards/openagi/"


def planners(html: str) -> list[str]:
    return re.findall(r'class="planner-name"[^>]*>([^<]+)<', html)


def test_board_shows_numbers_intervals_coverage_and_why_a_metric_is_missing(client: Client):
    _, snapshot = make_board()
    html = client.get(BOARD).content.decode()
    assert "30 of 185 run" in html
    assert "0.700" in html
    assert re.search(r"95 % interval </span>0\.650 . 0\.750", html)
    assert 'class="interval"' in html
    assert "No task with the metric CLIP can run under this profile" in html
    assert snapshot.digest[:12] in html
    assert reverse("api:board", args=["openagi"]) in html


def test_sorting_lives_in_the_address(client: Client):
    make_board()
    for sort, first in (
        ("", "planner of ada"),
        ("-overall", "planner of ada"),
        ("overall", "planner of bea"),
        ("-ViT", "planner of ada"),
        ("-planner", "planner of bea"),
        ("no-such-column", "planner of ada"),
    ):
        assert planners(client.get(BOARD, {"sort": sort}).content.decode())[0] == first, sort


def test_evaluations_under_way_and_on_hold_stand_below_without_a_rank(client: Client):
    suite, _ = make_board()
    owner = make_user("eve")
    for state in ("running", "on_hold"):
        make_evaluation(planner=make_planner(owner=owner, name=f"is {state}"), suite=suite, state=state)
    html = client.get(BOARD).content.decode()
    ranked, waiting = html.split("Pending evaluations")
    assert "is running" not in ranked
    assert planners(waiting) == ["is running", "is on_hold"]
    assert "Waiting for its owner" in waiting


def test_a_board_that_did_not_change_is_304(client: Client):
    suite, _ = make_board()
    first = client.get(BOARD)
    tag = first.headers["ETag"]
    again = client.get(BOARD, headers={"If-None-Match": tag})
    assert again.status_code == 304
    assert again.headers["ETag"] == tag
    assert client.get(BOARD, {"sort": "overall"}, headers={"If-None-Match": tag}).status_code == 200
    better = make_planner(owner=make_user("cleo"), name="better")
    publish(make_evaluation(planner=better, suite=suite, summary=make_summary(0.9)))
    changed = client.get(BOARD, headers={"If-None-Match": tag})
    assert changed.status_code == 200
    assert planners(changed.content.decode())[0] == "better"


def test_a_page_kept_from_before_signing_in_is_not_reused(client: Client):
    make_board()
    tag = client.get(BOARD).headers["ETag"]
    client.force_login(make_user("eve"))
    page = client.get(BOARD, headers={"If-None-Match": tag})
    assert page.status_code == 200
    assert "private" in page.headers["Cache-Control"]


def test_a_snapshot_keeps_its_address_and_says_that_it_is_past(client: Client):
    make_board()
    past = client.get(f"{BOARD}snapshots/1/")
    assert planners(past.content.decode()) == ["planner of ada"]
    assert b"earlier snapshot of the board" in past.content
    assert b"earlier snapshot of the board" not in client.get(f"{BOARD}snapshots/2/").content
    assert client.get(f"{BOARD}snapshots/1/", headers={"If-None-Match": past.headers["ETag"]}).status_code == 304
    assert client.get(f"{BOARD}snapshots/3/").status_code == 404


def test_a_board_under_other_conditions_has_an_address(client: Client):
    suite, _ = make_board()
    other = make_evaluation(planner=make_planner(owner=make_user("eve"), name="brief"), suite=suite, samples=2)
    publish(other)
    assert "brief" not in planners(client.get(BOARD).content.decode())
    conditions = {"profile_digest": other.profile_digest, "split": "public", "samples": "2"}
    assert planners(client.get(BOARD, conditions).content.decode()) == ["brief"]
    assert client.get(BOARD, {"samples": "2"}).status_code == 404


def test_ticked_rows_lead_to_their_comparison(client: Client):
    make_board()
    html = client.get(BOARD).content.decode()
    ticked = re.findall(r'name="e" value="([^"]+)" form="compare-rows"', html)
    assert len(ticked) == 2
    assert f'id="compare-rows" method="get" action="{reverse("compare:compare")}"' in html
    assert client.get(reverse("compare:compare"), {"e": ticked}).status_code == 200
    assert 'name="e"' not in client.get("/").content.decode()
