"""Pages of a suite whose plans are executed and judged: real plans, real experts, and what they found."""

import re

import pytest
from django.test import Client

from evaluator.episodes import Setting
from evaluator.metrics.aggregate import TaskScore, indicators_of_samples, scores_of_samples, summarise
from evaluator.planners.given import GivenPlans
from evaluator.plans import plan_to_json
from evaluator.plans_file import GivenPlan
from evaluator.records import Outcome, Reason, ResultRecord
from evaluator.suites.registry import episode_of, suite_of
from evaluator.values import Artefact, MediaType
from leaderboard.boards.services import publish
from leaderboard.catalog.models import Suite, Task
from leaderboard.catalog.services import register_suite
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.results.objects import server_store
from leaderboard.results.results import plan_summary
from tests.leaderboard.pages.factories import make_evaluation, make_planner, make_user

SLUG = "toolworld"
SUITE = suite_of(SLUG)
BOXES, MASK, MOTION, LINES, REMOVAL = (
    "image_detection/0", "image_segmentation/0", "video_classification/0", "image_processing/0", "image_editing/0",
)  # fmt: skip
WRONG_SIZE, COUNT = "image_detection/1", "count_object/0"


def records() -> list[ResultRecord]:
    """Gold plans of a few requests, and two bad ones."""
    plans = {key: GivenPlan(plan_to_json(SUITE.task(key).gold)) for key in (BOXES, MASK, MOTION, LINES, REMOVAL)}
    name = next(iter(SUITE.task(COUNT).resources))
    detect = {
        "id": "s1",
        "tool": "object_detection",
        "inputs": {"image": f"${name}"},
        "outputs": {"object": "s1.object"},
    }
    # Everything that is there is counted, not what was asked for.
    count = {
        "id": "s2", "tool": "count_objects", "inputs": {"bbox_list": "s1.object"}, "outputs": {"length": "s2.length"}
    }  # fmt: skip
    plans[COUNT] = GivenPlan({"steps": [detect, count], "answers": ["s2.length"]})
    image = f"${next(iter(SUITE.task(WRONG_SIZE).resources))}"
    # Boxes of the picture are drawn on a crop of it.
    crop = {
        "id": "s2", "tool": "image_cropping", "inputs": {"image": image, "object": "s1.object"},
        "outputs": {"image": "s2.image"},
    }  # fmt: skip
    highlight = {
        "id": "s3", "tool": "highlight_object_on_image", "inputs": {"image": "s2.image", "bbox": "s1.object"},
        "outputs": {"result": "s3.result"},
    }  # fmt: skip
    plans[WRONG_SIZE] = GivenPlan(
        {"steps": [detect | {"inputs": {"image": image}}, crop, highlight], "answers": ["s3.result"]}
    )
    store = server_store(split="public")
    setting = Setting(profile="lilliput", samples=2, open_store=lambda: store)
    evaluator = episode_of(SLUG).evaluator(suite=SUITE, setting=setting)
    return list(evaluator.run(planner=GivenPlans(plans, name="a few"), tasks=list(plans)))


@pytest.fixture
def evaluation(db: None) -> Evaluation:
    register_suite(SUITE)
    suite = Suite.objects.get(slug=SLUG, current=True)
    made = records()
    summary = summarise(suite=SUITE, results=map(TaskScore.of, made), samples=2)
    found = make_evaluation(
        planner=make_planner(owner=make_user()), suite=suite, summary=summary, tasks_total=len(made), samples=2,
        tasks_not_run=0,
    )  # fmt: skip
    for record in made:
        artefact = Artefact(data=record.model_dump_json().encode(), media_type=MediaType.TEXT)
        TaskResult.objects.create(
            evaluation=found, task=Task.objects.get(suite=suite, key=record.task), outcome=record.outcome,
            reason=record.reason or "", reason_text=record.reason_text, score=record.score,
            sample_scores=list(scores_of_samples(record)), indicators=record.indicators,
            sample_indicators=indicators_of_samples(record), seconds=0.2, plan_summary=plan_summary(record),
            record_digest=server_store(split="public").put(artefact),
        )  # fmt: skip
    return found


def read(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return response.content.decode()


def page(client: Client, evaluation: Evaluation, key: str) -> str:
    return read(client, f"/evaluations/{evaluation.pk}/tasks/{key}/")


def test_what_was_found_is_drawn_and_what_was_wanted_is_said(client: Client, evaluation: Evaluation):
    boxes = page(client, evaluation, BOXES)
    assert boxes.count('<path class="border"') >= 4
    assert "Solution" in boxes
    masks = page(client, evaluation, MASK)
    assert masks.count('<path class="region"') >= 4
    for html in (boxes, masks):
        # Each picture below what was found is one of the inputs.
        below = set(re.findall(r'<image href="(/objects/\w+)"', html))
        assert len(below) == 2
        assert all(f'<img src="{address}"' in html for address in below)
    motion = page(client, evaluation, MOTION)
    assert re.search(r"<blockquote[^>]*>[a-z ]+ \([01]\.\d\d\)", motion)


def test_a_plan_that_counts_too_much_is_executed_and_does_not_solve_the_request(client: Client, evaluation: Evaluation):
    result = TaskResult.objects.get(evaluation=evaluation, task__key=COUNT)
    assert result.outcome == Outcome.SCORED
    assert result.indicators["SE"] == 0
    assert result.score is not None
    assert result.score < 1
    solved = TaskResult.objects.get(evaluation=evaluation, task__key=BOXES)
    assert (solved.indicators["SE"], solved.indicators["relative"]) == (1, 1)
    html = page(client, evaluation, COUNT)
    assert "does not solve it" in html


def test_inputs_that_do_not_go_together_are_the_planners_fault(client: Client, evaluation: Evaluation):
    result = TaskResult.objects.get(evaluation=evaluation, task__key=WRONG_SIZE)
    assert (result.outcome, result.reason) == (Outcome.PLANNER_FAULT, Reason.UNFIT_INPUT)
    html = page(client, evaluation, WRONG_SIZE)
    assert "they must be equal" in html
    # What a judge found right before would contradict what the columns count.
    assert "Every resource exists" not in html


def test_clips_and_findings_are_served_as_what_they_are_and_run_nothing(client: Client, evaluation: Evaluation):
    kinds = set()
    for record in (page(client, evaluation, key) for key in (BOXES, MOTION)):
        for digest in set(re.findall(r"/objects/(\w{64})", record)):
            response = client.get(f"/objects/{digest}")
            kinds.add(response["Content-Type"])
            assert response["X-Content-Type-Options"] == "nosniff"
            assert "sandbox" in response["Content-Security-Policy"]
    assert kinds >= {"image/png", "image/apng", "application/json"}


def test_the_board_has_the_score_before_what_the_judge_says(client: Client, evaluation: Evaluation):
    publish(evaluation)
    html = read(client, f"/boards/{SLUG}/")
    columns = re.findall(r'id="sort-(\w+)"', html)
    assert columns.index("score") < columns.index("relative") < columns.index("SE")
    assert "compared with the truth of the picture" in html
    assert read(client, f"/evaluations/{evaluation.pk}/")
