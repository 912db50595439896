"""An evaluation on fewer than ten scenes: wherever its score is shown, a dash and a reason stand for its interval."""

import csv
import io
import json

import pytest
from django.test import Client
from django.urls import reverse

from evaluator.metrics.statistics import TOO_FEW
from evaluator.records import Outcome
from leaderboard.boards.models import Snapshot
from leaderboard.boards.services import publish
from leaderboard.catalog.models import Task
from leaderboard.evaluations.models import Evaluation, TaskResult
from tests.leaderboard.pages.factories import make_evaluation, make_planner, make_suite, make_user

pytestmark = pytest.mark.django_db
THIN = {"mean": 0.908, "low": None, "high": None, "tasks": 2}
WIDE = {"mean": 0.7, "low": 0.65, "high": 0.75, "tasks": 30}
SHOWN = ("0.908 \N{EN DASH} 0.908", "0.908 to 0.908", "0.9080 to 0.9080")


def evaluation_of(name: str, *, scores: tuple[float, ...], scenes: int = 2) -> Evaluation:
    planner = make_planner(owner=make_user(name), name=f"planner of {name}")
    summary = {"metrics": {"overall": THIN, "ViT": WIDE}, "outcomes": {"scored": len(scores)}}
    made = make_evaluation(planner=planner, suite=make_suite(), summary=summary, samples=scenes)
    tasks = Task.objects.filter(suite=made.suite).order_by("position")[: len(scores)]
    TaskResult.objects.bulk_create(
        TaskResult(
            evaluation=made, task=task, outcome=Outcome.SCORED, score=score, sample_scores=[score] * scenes, seconds=0.1
        )
        for task, score in zip(tasks, scores, strict=True)
    )
    return made


@pytest.fixture
def few(settings, tmp_path) -> Evaluation:
    settings.STORE_DIR = tmp_path / "store"
    made = evaluation_of("ada", scores=(0.908, 0.908))
    publish(made)
    return made


@pytest.fixture
def snapshot(few: Evaluation) -> Snapshot:
    return Snapshot.objects.get()


def read(path: str) -> str:
    response = Client().get(path)
    assert response.status_code == 200, path
    return response.content.decode()


def test_a_new_snapshot_holds_no_interval(few):
    row = Snapshot.objects.get().content["rows"][0]
    assert row["metrics"]["overall"] == {"mean": 0.908, "low": None, "high": None, "tasks": 2}
    assert row["metrics"]["ViT"] == WIDE
    assert (row["rank"], row["rank_low"], row["rank_high"]) == (1, None, None)


def test_pages_show_a_dash_and_say_why(snapshot, few):
    for path in (
        "/boards/openagi/",
        f"/boards/openagi/snapshots/{snapshot.number}/",
        f"/evaluations/{few.pk}/",
        f"/planners/{few.submission.planner_id}/",
    ):
        html = read(path)
        assert "0.908" in html
        assert f'<span class="visually-hidden">{TOO_FEW}</span>' in html
        assert not [text for text in SHOWN if text in html], path


def test_files_leave_it_empty(snapshot, few):
    base = f"/boards/openagi/snapshots/{snapshot.number}"
    addresses = {
        extension: reverse(
            "boards:snapshot-file",
            kwargs={"suite": "openagi", "number": snapshot.number, "extension": extension},
        )
        for extension in ("csv", "bib", "json")
    }
    assert all(address.startswith(base) for address in addresses.values())
    (line,) = csv.DictReader(io.StringIO(read(addresses["csv"])))
    assert (line["overall_mean"], line["overall_low"], line["overall_high"]) == ("0.908", "", "")
    assert line["ViT_low"] == "0.65"
    assert "95 % interval" not in read(addresses["bib"])
    row = reverse("boards:row-file", kwargs={"suite": "openagi", "number": snapshot.number, "evaluation": few.pk})
    assert "Overall 0.908, rank 1 of 1" in read(row)
    kept = json.loads(read(addresses["json"]))["content"]["rows"][0]
    assert kept["metrics"]["overall"] == THIN


def test_the_api_has_null(snapshot, few):
    found = json.loads(read(f"/api/v1/evaluations/{few.pk}/"))
    assert found["summary"]["metrics"] == {"overall": {**THIN, "low": None, "high": None}, "ViT": WIDE}
    rows = json.loads(read("/api/v1/boards/openagi/rows/"))
    assert '"low": 0.908' not in json.dumps(rows)
    groups = json.loads(read(f"/api/v1/evaluations/{few.pk}/breakdowns/"))["scores"]
    assert all((group["low"], group["high"]) == (None, None) for group in groups)


@pytest.mark.parametrize("scenes", [4, 5, 9, 10])
def test_groups_have_intervals_over_enough_scenes(few, scenes):
    made = evaluation_of("bea", scores=tuple(number / 40 for number in range(40)), scenes=scenes)
    groups = json.loads(read(f"/api/v1/evaluations/{made.pk}/breakdowns/"))["scores"]
    assert {group["tasks"] < 10 for group in groups} == {True, False}
    for group in groups:
        assert (group["low"] is None) == (scenes < (5 if group["tasks"] >= 10 else 10))
    assert TOO_FEW in read(f"/evaluations/{made.pk}/")


def test_a_comparison_over_few_tasks_says_that_there_is_no_interval(few):
    other = evaluation_of("bea", scores=(0.5, 0.4))
    query = f"?e={few.pk}&e={other.pk}"
    html = read(f"/compare/{query}")
    assert "no interval over fewer than 10 independent tasks or scenes" in html
    assert f'title="{TOO_FEW}"' in html
    (pair,) = json.loads(read(f"/api/v1/compare/{query}"))["comparisons"]
    assert pair["metrics"]
    assert all((one["low"], one["high"]) == (None, None) for one in pair["metrics"])
    assert all(one["p_value"] is None for one in pair["metrics"])
