"""An evaluation on fewer than five scenes: wherever its score is shown, a dash and a reason stand for its interval."""

import csv
import io
import json

import pytest
from django.test import Client

from evaluator.core.records import Outcome
from evaluator.scoring.metrics.statistics import NEEDED, TOO_FEW
from leaderboard.boards.models import Snapshot
from leaderboard.boards.services import publish
from leaderboard.catalog.models import Task
from leaderboard.evaluations.models import Evaluation, TaskResult
from tests.leaderboard.evaluations.web.factories import make_evaluation, make_planner, make_suite, make_user, read

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
def few(own_store) -> Evaluation:
    made = evaluation_of("ada", scores=(0.908, 0.908))
    publish(made)
    return made


def test_pages_show_a_dash_and_say_why(few):
    number = Snapshot.objects.get().number
    paths = ("boards/openagi", f"boards/openagi/snapshots/{number}", f"evaluations/{few.pk}",
             f"planners/{few.submission.planner_id}")  # fmt: skip
    for path in paths:
        html = read(Client(), f"/{path}/")
        assert "0.908" in html
        assert f'<span class="visually-hidden">{TOO_FEW}</span>' in html
        assert not [text for text in SHOWN if text in html], path


def test_snapshot_files_and_the_api_leave_it_empty(few):
    snapshot = Snapshot.objects.get()
    (row,) = snapshot.content["rows"]
    assert row["metrics"] == {"overall": THIN, "ViT": WIDE}
    assert (row["rank"], row["rank_low"], row["rank_high"]) == (1, None, None)
    base = f"/boards/openagi/snapshots/{snapshot.number}"
    (line,) = csv.DictReader(io.StringIO(read(Client(), f"{base}.csv")))
    assert (line["overall_mean"], line["overall_low"], line["overall_high"]) == ("0.908", "", "")
    assert line["ViT_low"] == "0.65"
    assert "95 % interval" not in read(Client(), f"{base}.bib")
    assert "Overall 0.908, rank 1 of 1" in read(Client(), f"{base}/rows/{few.pk}.bib")
    assert json.loads(read(Client(), f"/api/v1/evaluations/{few.pk}/"))["summary"]["metrics"] == {
        "overall": THIN,
        "ViT": WIDE,
    }
    groups = json.loads(read(Client(), f"/api/v1/evaluations/{few.pk}/breakdowns/"))["scores"]
    assert all((group["low"], group["high"]) == (None, None) for group in groups)


@pytest.mark.parametrize("scenes", [4, 5, 9, 10])
def test_groups_have_intervals_over_enough_scenes(few, scenes):
    made = evaluation_of("bea", scores=tuple(number / 40 for number in range(40)), scenes=scenes)
    groups = json.loads(read(Client(), f"/api/v1/evaluations/{made.pk}/breakdowns/"))["scores"]
    assert {group["tasks"] < 10 for group in groups} == {True, False}
    for group in groups:
        assert (group["low"] is None) == (scenes < 5)


def test_a_comparison_over_few_tasks_says_that_there_is_no_interval(few):
    query = f"?e={few.pk}&e={evaluation_of('bea', scores=(0.5, 0.4)).pk}"
    assert f"no interval over fewer than {NEEDED}" in read(Client(), f"/compare/{query}")
    (pair,) = json.loads(read(Client(), f"/api/v1/compare/{query}"))["comparisons"]
    assert pair["metrics"]
    assert {(one["low"], one["high"], one["p_value"]) for one in pair["metrics"]} == {(None, None, None)}
