"""The task page."""

import re

import pytest
from django.test import Client

from evaluator.records import Reason, ResultRecord
from evaluator.values import Artefact, MediaType
from leaderboard.boards.services import publish
from leaderboard.catalog.models import Task
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.evaluations.objects import server_store
from tests.leaderboard.pages.factories import (
    make_evaluation,
    make_planner,
    make_result,
    make_suite,
    make_summary,
    make_user,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def evaluation() -> Evaluation:
    return make_evaluation(planner=make_planner(owner=make_user()), suite=make_suite())


def task(key: str) -> Task:
    return Task.objects.get(key=key)


def page(client: Client, evaluation: Evaluation, key: str) -> str:
    response = client.get(f"/evaluations/{evaluation.pk}/tasks/{key}/")
    assert response.status_code == 200
    return response.content.decode()


def test_a_scored_task_shows_plan_gold_samples_and_what_was_sent(client: Client, evaluation: Evaluation):
    result = make_result(evaluation=evaluation, task=task("0"))
    html = page(client, evaluation, "0")
    for expected in (
        task("0").text,
        'id="plan-text"',
        'id="gold-text"',
        "Image Super Resolution",
        "Sample 2",
        'alt="Output image of step s1, Image Super Resolution, sample 1"',
        'alt="The reference, sample 2"',
        "from the store",
        "4.0 ms",
        "ignored an empty name",
        "What the planner sent",
        f"/objects/{result.record_digest}",
        "tasks/1/",
    ):
        assert expected in html, expected


def test_texts_of_a_sample_are_quoted(client: Client, evaluation: Evaluation):
    make_result(evaluation=evaluation, task=task("19"))
    assert "<blockquote>a red circle</blockquote>" in page(client, evaluation, "19")


def test_a_wrong_plan_marks_the_step_and_says_why(client: Client, evaluation: Evaluation):
    make_result(evaluation=evaluation, task=task("3"), fault=Reason.INVALID_PLAN)
    html = page(client, evaluation, "3")
    assert html.count('class="node step failing"') == 1
    assert "Colorization takes image" in html


def test_a_plan_without_steps_marks_its_answer(client: Client, evaluation: Evaluation):
    make_result(evaluation=evaluation, task=task("19"), fault=Reason.INVALID_PLAN, steps=0)
    html = page(client, evaluation, "19")
    assert 'class="node answer failing"' in html
    assert "Answer type" in html


def test_several_problems_are_listed(client: Client, evaluation: Evaluation):
    make_result(evaluation=evaluation, task=task("3"), fault=Reason.INVALID_PLAN, problems=3)
    html = page(client, evaluation, "3")
    assert "3 problems" in html
    assert html.count("step s2</span>") == 3


def test_an_infrastructure_fault_has_no_score_and_says_whose_it_is(client: Client, evaluation: Evaluation):
    make_result(evaluation=evaluation, task=task("5"), fault=Reason.ENDPOINT_UNAVAILABLE)
    html = page(client, evaluation, "5")
    assert "answered 503" in html
    assert "Not the planner&#x27;s fault" in html
    assert "There is no plan to draw." in html


def test_a_task_that_cannot_run_shows_the_gold_plan_and_is_not_zero(client: Client, evaluation: Evaluation):
    TaskResult.objects.create(
        evaluation=evaluation, task=task("130"), outcome="not_run", reason="no_expert", reason_text="No VQA expert."
    )
    html = page(client, evaluation, "130")
    assert "No VQA expert." in html
    assert "never scored as 0" in html
    assert 'id="gold-text"' in html
    assert "0.000" not in html


def test_a_task_without_a_result_waits(client: Client, evaluation: Evaluation):
    assert "has not ended yet" in page(client, evaluation, "7")


def test_a_record_that_the_store_lost_is_said_and_nothing_breaks(client: Client, evaluation: Evaluation):
    TaskResult.objects.create(
        evaluation=evaluation, task=task("1"), outcome="scored", score=0.5, record_digest="0" * 64
    )
    html = page(client, evaluation, "1")
    assert "cannot be read" in html
    assert "0.500" in html


def test_the_hidden_split_shows_no_data_and_no_gold_plan(client: Client, evaluation: Evaluation):
    evaluation.split = "hidden"
    evaluation.save()
    result = make_result(evaluation=evaluation, task=task("0"))
    client.force_login(evaluation.submission.submitted_by)
    for html in (page(Client(), evaluation, "0"), page(client, evaluation, "0")):
        assert "hidden split" in html
        assert "Sample 1" not in html
        assert 'id="gold-text"' not in html
        assert "objects/" not in html
        assert result.record_digest not in html


def test_staff_see_the_hidden_split_at_addresses_of_its_own(client: Client, evaluation: Evaluation, settings, tmp_path):
    settings.STORE_DIR = tmp_path
    evaluation.split = "hidden"
    evaluation.save()
    result = make_result(evaluation=evaluation, task=task("0"))
    client.force_login(make_user("operator", is_staff=True))
    html = page(client, evaluation, "0")
    assert "Sample 1" in html
    shown = set(re.findall(r'"(/[\w-]*objects/[^"]+)"', html))
    assert f"/hidden-objects/{result.record_digest}" in shown
    assert len(shown) > 5
    for address in shown:
        response = client.get(address)
        assert response.status_code == 200
        assert response["Cache-Control"] == "private, no-store"
        assert Client().get(address).status_code == 404
        assert client.get(address.replace("/hidden-objects/", "/objects/")).status_code == 404


def test_first_and_last_task_have_one_neighbour(client: Client, evaluation: Evaluation):
    assert 'rel="prev"' not in page(client, evaluation, "0")
    last = page(client, evaluation, "184")
    assert 'rel="next"' not in last
    assert "tasks/183/" in last


def test_a_task_that_the_suite_does_not_have_is_404(client: Client, evaluation: Evaluation):
    assert client.get(f"/evaluations/{evaluation.pk}/tasks/185/").status_code == 404


def test_the_number_of_queries_does_not_grow_with_the_samples(
    client: Client, evaluation: Evaluation, django_assert_max_num_queries
):
    make_result(evaluation=evaluation, task=task("0"), samples=12)
    with django_assert_max_num_queries(5):
        page(client, evaluation, "0")


def test_other_planners_of_the_board_are_shown_by_their_best_evaluation(client: Client, evaluation: Evaluation):
    make_result(evaluation=evaluation, task=task("0"), samples=0)
    assert "How other planners did" not in page(client, evaluation, "0")
    suite = evaluation.suite
    planner = make_planner(owner=make_user("bea"), name="other")
    best, second = (
        make_evaluation(planner=planner, suite=suite, summary=make_summary(overall)) for overall in (0.8, 0.6)
    )
    elsewhere = make_evaluation(planner=make_planner(owner=make_user("eve"), name="eve"), suite=suite, samples=4)
    running = make_evaluation(planner=make_planner(owner=make_user("dan"), name="dan"), suite=suite, state="running")
    for one in (best, second, elsewhere, running):
        make_result(evaluation=one, task=task("0"), samples=0)
    publish(best)
    html = page(client, evaluation, "0")
    part = html[html.index("How other planners did") :]
    assert "Of 1 other planner, <b>0</b> score higher, <b>1</b> the same" in part
    assert f"/evaluations/{best.pk}/tasks/0/" in part
    for absent in (second, elsewhere, running):
        assert str(absent.pk) not in part


NOTES = {
    "prompt": "visprog/1",
    "completions": ["A=MAGIC(<IMAGE>)"],
    "lines": [{"line": "Step 2: enjoy", "best": "Sentiment Analysis", "similarity": 0.12, "mapped": False}],
}


def noted(evaluation: Evaluation, key: str, *, notes: dict) -> TaskResult:
    """A result whose record has notes."""
    result = make_result(evaluation=evaluation, task=task(key))
    store = server_store(split=evaluation.split)
    record = ResultRecord.model_validate_json(store.get(result.record_digest).data)
    data = record.model_copy(update={"planner_notes": notes}).model_dump_json().encode()
    result.record_digest = store.put(Artefact(data=data, media_type=MediaType.TEXT))
    result.save()
    return result


def test_how_a_plan_came_about_is_shown_and_quoted(client: Client, evaluation: Evaluation):
    noted(evaluation, "0", notes=NOTES)
    html = page(client, evaluation, "0")
    assert "How the plan came about" in html
    assert "A=MAGIC(&lt;IMAGE&gt;)" in html
    assert '<tr class="bad"><td>Step 2: enjoy</td>' in html


def test_without_notes_nothing_is_said_of_how_a_plan_came_about(client: Client, evaluation: Evaluation):
    make_result(evaluation=evaluation, task=task("0"))
    assert "How the plan came about" not in page(client, evaluation, "0")


def test_notes_of_the_hidden_split_are_as_public_as_its_plans(client: Client):
    hidden = make_evaluation(planner=make_planner(owner=make_user()), suite=make_suite(), split="hidden")
    noted(hidden, "0", notes=NOTES)
    html = page(client, hidden, "0")
    assert "A=MAGIC(&lt;IMAGE&gt;)" in html
    assert 'id="plan-text"' in html
    assert "Sample 1" not in html
