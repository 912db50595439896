"""The column of normalised scores."""

import numpy as np
import pytest

from leaderboard.boards.services import publish
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation
from tests.leaderboard.boards.test_policy import keep_scores
from tests.leaderboard.evaluations.web.factories import (
    make_evaluation,
    make_planner,
    make_suite,
    make_summary,
    make_user,
)

pytestmark = pytest.mark.django_db
SCENES = 12


@pytest.fixture
def suite() -> Suite:
    return make_suite()


def run(name: str, suite: Suite, *, score: float, bundled: str) -> Evaluation:
    """Twenty tasks with the same score on all scenes but for what all planners have in common."""
    planner = make_planner(owner=make_user(name), name=name, bundled_name=bundled)
    made = make_evaluation(planner=planner, suite=suite, samples=SCENES, summary=make_summary(score, scored=20))
    scores = (score + np.random.default_rng(0).normal(0, 0.01, (20, SCENES))).round(6)
    keep_scores(made, scores)
    return made


def test_rows_lie_between_doing_nothing_and_gold_plans(suite, client):
    gold = run("ada", suite, score=0.9, bundled="gold")
    floor = run("bea", suite, score=0.1, bundled="no-op")
    run("cleo", suite, score=0.7, bundled="random-valid")
    found = {row["planner"]: row["normalised"] for row in publish(gold).content["rows"]}
    assert [found[name]["mean"] for name in ("ada", "cleo", "bea")] == pytest.approx([1, 0.75, 0])
    assert {(one["gold"], one["no_op"], one["tasks"]) for one in found.values()} == {(str(gold.pk), str(floor.pk), 20)}
    assert found["cleo"]["low"] <= found["cleo"]["mean"] <= found["cleo"]["high"]
    html = " ".join(client.get("/boards/openagi/").content.decode().split())
    assert ">Normalised<" in html
    assert "0.750" in html
    lines = client.get("/boards/openagi/newest.csv", follow=True).content.decode().splitlines()
    assert "normalised_mean,normalised_low,normalised_high,normalised_tasks" in lines[0]
    ordered = client.get("/api/v1/boards/openagi/rows/?sort=normalised").json()["rows"]
    assert [row["planner"] for row in ordered] == ["bea", "cleo", "ada"]


def test_without_an_anchor_a_dash_says_which_one_is_missing(suite, client):
    publish(run("ada", suite, score=0.9, bundled="gold"))
    html = " ".join(client.get("/boards/openagi/?column=normalised").content.decode().split())
    assert "No published run of no-op under these conditions." in html


def test_a_planner_that_is_only_called_gold_is_no_anchor(suite):
    run("gold", suite, score=0.9, bundled="random-valid")
    (first, _) = publish(run("no-op", suite, score=0.1, bundled="no-op")).content["rows"]
    assert first["normalised"] == {"missing": "No published run of gold under these conditions."}
