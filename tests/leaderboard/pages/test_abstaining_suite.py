"""Pages of a suite in which half of the requests cannot be met."""

import re

import pytest
from django.test import override_settings

from evaluator.planners import PlannerReply
from evaluator.plans import plan_to_json
from evaluator.plans.abstaining import abstention
from evaluator.records import PlannerCall
from evaluator.suites import suite_of
from evaluator.suites.base import ABSTENTION
from leaderboard.catalog.models import Suite
from leaderboard.catalog.services import register_suite
from leaderboard.evaluations.models import Evaluation, TaskResult
from tests.fakes.launcher import reset_launcher
from tests.leaderboard.factories import make_submission, make_user
from tests.leaderboard.planning import REAL, run_evaluation
from tests.leaderboard.site.api.helpers import client_of

pytestmark = pytest.mark.django_db
SUITE = suite_of("toolmini-abstain")
IMPOSSIBLE, OTHER_IMPOSSIBLE = [task for task in SUITE.tasks if task.metric == ABSTENTION][:2]
POSSIBLE, REFUSED, UNREADABLE = [task for task in SUITE.tasks if task.metric != ABSTENTION][:3]
WHY = "The lamp & the switch are out of reach."
CALL = {"id": "s1", "tool": "text_to_image", "inputs": {"text": "x"}, "outputs": {"image": "s1.image"}}


class Planner:
    """Right, but for one miss, one refusal and one answer that is no plan."""

    name = "mixed"

    def plan(self, request):
        key = request.task.id
        answer = plan_to_json(SUITE.task(key).gold)
        if key in {IMPOSSIBLE.key, REFUSED.key}:
            answer = abstention(WHY)
        elif key == OTHER_IMPOSSIBLE.key:
            answer = {"steps": [CALL], "answers": ["s1.image"]}
        elif key == UNREADABLE.key:
            answer = "[I would first"
        return PlannerReply(plan=answer, call=PlannerCall(seconds=0.01))


@pytest.fixture(scope="module")
def made(module_rows):
    reset_launcher()
    with override_settings(EVALUATOR=REAL):
        register_suite(SUITE)
        suite = Suite.objects.get(slug=SUITE.slug)
        return run_evaluation(make_submission(suite=suite, user=make_user("ada")).evaluations.get(), planner=Planner())


@pytest.fixture
def evaluation(made, settings):
    settings.EVALUATOR = REAL
    return Evaluation.objects.get(pk=made.pk)


def page(client, address):
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def task_page(client, evaluation, task):
    return page(client, f"/evaluations/{evaluation.pk}/tasks/{task.key}/")


def test_its_board_ranks_by_accuracy(client, evaluation):
    metrics = evaluation.summary["metrics"]
    assert metrics["accuracy"]["mean"] == pytest.approx(237 / 240)
    assert metrics["misses"]["mean"] == pytest.approx(1 / 120)
    assert metrics["false_refusals"]["mean"] == pytest.approx(1 / 120)
    assert metrics["SE"]["mean"] == pytest.approx(118 / 120)
    html = page(client, f"/boards/{SUITE.slug}/")
    assert re.findall(r'id="sort-(\w+)"', html)[2:5] == ["accuracy", "false_refusals", "misses"]
    assert "Determines the rank." in html


def test_an_evaluation_is_broken_down_by_what_requests_lack(client, evaluation):
    html = page(client, f"/evaluations/{evaluation.pk}/")
    assert "What is lacking" in html
    groups = client_of(make_user("eve")).get(f"evaluations/{evaluation.pk}/breakdowns/").json()["indicators"]
    lacking = {group["value"]: (group["indicator"], group["tasks"]) for group in groups if group["facet"] == "need"}
    assert lacking == {
        "solvable": ("accuracy", 120), "missing_file": ("accuracy", 40), "no_tool": ("accuracy", 40),
        "contradiction": ("accuracy", 40),
    }  # fmt: skip


def test_a_right_abstention_is_called_right_with_its_reason(client, evaluation):
    html = task_page(client, evaluation, IMPOSSIBLE)
    assert "The planner abstained. That is right: no tool can meet this request." in html
    assert "The lamp &amp; the switch are out of reach.</q>" in html
    assert "No plan can meet this" in html
    assert re.findall(r'class="mark good">(\w+ \d)<', html) == ["Accuracy 1"]


def test_a_false_refusal_is_told_from_a_right_one(client, evaluation):
    html = task_page(client, evaluation, REFUSED)
    assert "The planner abstained. The request can be met" in html
    assert "The planner abstained, but the tools can meet this request." in html
    assert re.findall(r'class="mark bad">(\w+ \d)<', html) == ["Accuracy 0"]
    indicators = TaskResult.objects.get(evaluation=evaluation, task__key=REFUSED.key).indicators
    assert (indicators["SE"], indicators["NR"], indicators["false_refusals"]) == (0.0, 0.0, 1.0)


def test_a_miss_says_that_abstaining_would_have_been_right(client, evaluation):
    html = task_page(client, evaluation, OTHER_IMPOSSIBLE)
    assert "No plan can meet this request; abstaining would have been right." in html
    assert TaskResult.objects.get(evaluation=evaluation, task__key=OTHER_IMPOSSIBLE.key).indicators == {
        "accuracy": 0.0, "accuracy_undecided": 0.0, "misses": 1.0,
    }  # fmt: skip
