"""The task page."""

import re
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from evaluator.core.records import Reason, ResultRecord
from evaluator.core.values import Artefact, MediaType
from leaderboard.boards.services import publish
from leaderboard.catalog.models import Task
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.evaluations.results.objects import server_store
from leaderboard.evaluations.web.others import BINS, MOST_SHOWN, Other, summarise
from leaderboard.planners.models import Planner
from tests.leaderboard.evaluations.web.factories import (
    make_evaluation,
    make_planner,
    make_result,
    make_suite,
    make_summary,
    make_user,
    task_page,
)
from tests.leaderboard.factories import closed_season

pytestmark = pytest.mark.django_db
NOTES = {
    "prompt": "visprog/2",
    "completions": ["A=MAGIC(<IMAGE>)"],
    "lines": [{"line": "Step 2: enjoy", "best": "Sentiment Analysis", "similarity": 0.12, "mapped": False}],
}


@pytest.fixture
def evaluation() -> Evaluation:
    return make_evaluation(planner=make_planner(owner=make_user()), suite=make_suite())


def task(key: str) -> Task:
    return Task.objects.get(key=key)


def test_a_scored_task_shows_plan_gold_samples_and_what_was_sent(client: Client, evaluation: Evaluation):
    result = make_result(evaluation=evaluation, task=task("0"))
    html = task_page(client, evaluation, "0")
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
        '<span class="tag">Code fence</span> The reply is in a code fence; its content is read.',
        '<span class="tag">Prose</span>',
        "<dt>Modality</dt><dd>image → image</dd>",
        "Planner response",
        f"/objects/{result.record_digest}",
        "tasks/1/",
    ):
        assert expected in html, expected


def test_a_task_that_cannot_run_and_a_record_that_the_store_lost_are_said(client: Client, evaluation: Evaluation):
    not_run = {"outcome": "not_run", "reason": "no_expert", "reason_text": "No VQA expert."}
    TaskResult.objects.create(evaluation=evaluation, task=task("130"), **not_run)
    html = task_page(client, evaluation, "130")
    assert "No VQA expert." in html
    assert 'id="gold-text"' in html
    assert "0.000" not in html
    lost = {"outcome": "scored", "score": 0.5, "record_digest": "0" * 64}
    TaskResult.objects.create(evaluation=evaluation, task=task("1"), **lost)
    html = task_page(client, evaluation, "1")
    assert "is unavailable" in html
    assert "0.500" in html


def test_the_hidden_split_shows_no_data_no_gold_plan_and_no_notes(client: Client, evaluation: Evaluation):
    evaluation.split, evaluation.season = "hidden", closed_season()
    evaluation.save()
    evaluation.submission.planner.bundled_name = "random-valid"
    evaluation.submission.planner.save()
    result = changed(evaluation, "0", planner_notes=NOTES)
    client.force_login(evaluation.submission.submitted_by)
    for html in (task_page(Client(), evaluation, "0"), task_page(client, evaluation, "0")):
        assert "hidden split" in html
        for telling in (
            "Sample 1", 'id="gold-text"', "objects/", "gold plan as", "Missing:", "Not in the gold plan", "Over all",
            "from 0.", "lilliput/", "A=MAGIC(", result.record_digest,
        ):  # fmt: skip
            assert telling not in html, telling
    client.force_login(make_user("operator", is_staff=True))
    assert "A=MAGIC(&lt;IMAGE&gt;)" in task_page(client, evaluation, "0")


def test_staff_see_the_hidden_split_at_addresses_of_its_own(client: Client, evaluation: Evaluation, settings, tmp_path):
    settings.STORE_DIR = tmp_path
    evaluation.split, evaluation.season = "hidden", closed_season()
    evaluation.save()
    # The records of gold plans stay hidden after the season.
    Planner.objects.update(bundled_name="gold")
    result = make_result(evaluation=evaluation, task=task("0"))
    client.force_login(make_user("operator", is_staff=True))
    html = task_page(client, evaluation, "0")
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


def changed(evaluation: Evaluation, key: str, **changes: Any) -> TaskResult:
    """A result whose record differs in this from a scored one."""
    result = make_result(evaluation=evaluation, task=task(key))
    store = server_store(split=evaluation.split)
    record = ResultRecord.model_validate_json(store.get(result.record_digest).data)
    data = record.model_copy(update=changes).model_dump_json().encode()
    result.record_digest = store.put(Artefact(data=data, media_type=MediaType.TEXT))
    result.save()
    return result


def test_values_and_answers_of_a_wrong_type_are_marked_at_their_edge_with_both_types(client, evaluation: Evaluation):
    for key, steps, said in (("3", 2, "text, wants image"), ("19", 0, "image, wants text")):
        make_result(evaluation=evaluation, task=task(key), fault=Reason.INVALID_PLAN, steps=steps)
        html = task_page(client, evaluation, key)
        assert html.count('class="edge conflict"') == 1
        assert f">{said}</text>" in html
    assert "Colorization: Type conflict." in task_page(client, evaluation, "3"), (
        "for readers who do not see the drawing"
    )


def test_differences_from_the_gold_plan_are_marked_in_both_drawings_and_said(client: Client, evaluation: Evaluation):
    steps = [{"id": "a", "tool": "Image Denoising", "inputs": {"image": "$image"}, "outputs": {"image": "a.image"}}] * 2
    changed(evaluation, "0", plan={"steps": steps, "answers": ["a.image"], "subgoals": None})
    html = task_page(client, evaluation, "0")
    assert html.count('class="node step extra"') == 1
    assert html.count('class="node step missing"') == 3
    told = "Missing: Image Super Resolution, Image Deblurring, Colorization."
    assert told not in html, "the causes have said it"
    evaluation.results.update(causes=None)
    html = task_page(client, evaluation, "0")
    assert told in html
    assert "Not in the gold plan: Image Denoising." in html


def test_a_step_that_failed_when_run_is_marked_with_its_error(client: Client, evaluation: Evaluation):
    result = make_result(evaluation=evaluation, task=task("0"))
    record = ResultRecord.model_validate_json(server_store(split="public").get(result.record_digest).data)
    result.delete()
    record.samples[1].steps[2].error = "lilliput/deblurring failed: out of memory"
    changed(evaluation, "0", samples=record.samples)
    html = task_page(client, evaluation, "0")
    assert html.count('class="node step failing"') == 1
    assert "failed when run" in html
    assert html.count("lilliput/deblurring failed: out of memory") == 2, "once over all samples, once at its sample"


def test_going_on_keeps_to_what_was_filtered_and_sorted(client: Client, evaluation: Evaluation):
    for key in ("0", "1", "2", "3"):
        fault = Reason.INVALID_PLAN if key in "13" else None
        make_result(evaluation=evaluation, task=task(key), fault=fault, samples=0)
    chosen = {"outcome": "planner_fault", "sort": "-task"}
    listed = client.get(f"/evaluations/{evaluation.pk}/", chosen).content.decode()
    assert f'href="/evaluations/{evaluation.pk}/tasks/3/?outcome=planner_fault&amp;sort=-task"' in listed
    html = task_page(client, evaluation, "3", **chosen)
    assert "1 of 2 selected tasks" in html
    assert f'rel="next" href="/evaluations/{evaluation.pk}/tasks/1/?outcome=planner_fault&amp;sort=-task"' in html
    assert 'rel="prev"' not in html
    assert f'href="/evaluations/{evaluation.pk}/?outcome=planner_fault&amp;sort=-task#results"' in html


def test_tasks_of_a_verification_follow_each_other_in_its_sample(client: Client, evaluation: Evaluation):
    again = make_evaluation(
        planner=evaluation.submission.planner, suite=evaluation.suite, state="running", verifies=evaluation
    )
    again.shards.create(number=0, task_keys=["3", "14", "90"], available_at=again.created)
    html = task_page(client, again, "14")
    assert "tasks/3/" in html
    assert "tasks/90/" in html
    assert client.get(f"/evaluations/{again.pk}/tasks/15/").status_code == 404


def test_other_planners_of_the_board_are_shown_by_the_evaluation_on_the_board(client: Client, evaluation: Evaluation):
    make_result(evaluation=evaluation, task=task("0"), samples=0)
    assert "Other planners on this task" not in task_page(client, evaluation, "0")
    suite = evaluation.suite
    planner = make_planner(owner=make_user("bea"), name="other")
    before, latest = (
        make_evaluation(planner=planner, suite=suite, summary=make_summary(overall)) for overall in (0.8, 0.6)
    )
    elsewhere = make_evaluation(planner=make_planner(owner=make_user("eve"), name="eve"), suite=suite, samples=4)
    running = make_evaluation(planner=make_planner(owner=make_user("dan"), name="dan"), suite=suite, state="running")
    for one in (before, latest, elsewhere, running):
        make_result(evaluation=one, task=task("0"), samples=0)
    publish(latest)
    html = task_page(client, evaluation, "0")
    part = html[html.index("Other planners on this task") :]
    assert "Of 1 other planner, <b>0</b> score higher, <b>1</b> the same" in part
    assert f"/evaluations/{latest.pk}/tasks/0/" in part
    for absent in (before, elsewhere, running):
        assert str(absent.pk) not in part


def test_how_a_plan_came_about_is_shown_and_quoted(client: Client, evaluation: Evaluation):
    changed(evaluation, "0", planner_notes=NOTES)
    html = task_page(client, evaluation, "0")
    assert "How the plan was made" in html
    assert "A=MAGIC(&lt;IMAGE&gt;)" in html
    assert '<tr class="bad"><td>Step 2: enjoy</td>' in html


def make_other(score: float | None, name: str = "other", outcome: str = "scored") -> Other:
    return Other(evaluation=uuid4(), planner=name, owner="ada", outcome=outcome, score=score, plan="A, B")


def test_it_counts_who_is_better_and_who_has_no_score():
    found = summarise(others=[make_other(score) for score in (0.9, 0.5, 0.5, 0.2, None)], score=0.5)
    assert found is not None
    assert (found.count, found.better, found.equal, found.worse, found.unscored) == (5, 1, 2, 1, 1)


def test_the_best_come_first_and_a_scored_plan_before_a_fault_of_equal_score():
    others = [make_other(0.0, "fault", "planner_fault"), make_other(0.0, "zero"), *[make_other(0.5)] * 9]
    found = summarise(others=others, score=None)
    assert found is not None
    assert len(found.best) == MOST_SHOWN
    assert found.best[-1].planner == "zero"
    assert not found.this_is_scored


def test_every_score_is_in_one_bin_and_the_longest_bar_is_full():
    found = summarise(others=[make_other(score) for score in (-0.2, 0.0, 0.05, 0.35, 1.0)], score=0.3)
    assert found is not None
    assert len(found.bins) == BINS
    assert [bin.count for bin in found.bins] == [1, 0, 0, 0, 0, 0, 1, 0, 0, 3]
    assert found.bins[-1].width == "120.0"
    assert [bin.label for bin in found.bins if bin.holds_this] == ["0.3 to 0.4"]


def test_yes_or_no_has_two_bins():
    found = summarise(others=[make_other(1.0), make_other(0.0)], score=1.0)
    assert found is not None
    assert [(bin.label, bin.count, bin.holds_this) for bin in found.bins] == [("1", 1, True), ("0", 1, False)]


def test_without_a_score_there_is_nothing_to_tell():
    assert summarise(others=[make_other(None)], score=0.5) is None
    assert summarise(others=[], score=0.5) is None
