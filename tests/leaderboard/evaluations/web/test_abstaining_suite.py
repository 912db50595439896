"""Pages of a suite in which half of the requests cannot be met."""

import re

import pytest
from django.test import override_settings

from evaluator.core.planner import PlannerReply
from evaluator.core.plans.abstaining import abstention
from evaluator.core.plans.model import plan_to_json
from evaluator.core.records import PlannerCall
from evaluator.core.suites.base import ABSTENTION
from evaluator.core.suites.registry import suite_of
from leaderboard.catalog.models import Suite
from leaderboard.catalog.services import register_suite
from leaderboard.evaluations.models import Evaluation, TaskResult
from tests.fakes.launcher import reset_launcher
from tests.leaderboard.evaluations.web.factories import evaluation_page, read, task_page
from tests.leaderboard.factories import make_submission, make_user
from tests.leaderboard.planning import REAL, run_evaluation
from tests.leaderboard.platform.api.helpers import client_of

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


def test_its_board_ranks_by_accuracy(client, evaluation):
    metrics = evaluation.summary["metrics"]
    assert metrics["accuracy"]["mean"] == pytest.approx(237 / 240)
    assert metrics["misses"]["mean"] == pytest.approx(1 / 120)
    assert metrics["false_refusals"]["mean"] == pytest.approx(1 / 120)
    assert metrics["SE"]["mean"] == pytest.approx(118 / 120)
    html = read(client, f"/boards/{SUITE.slug}/")
    assert re.findall(r'id="sort-(\w+)"', html)[2:5] == ["accuracy", "false_refusals", "misses"]
    assert "Boards rank by it." in html


def test_an_evaluation_is_broken_down_by_what_requests_lack(client, evaluation):
    html = evaluation_page(client, evaluation)
    assert "What is missing" in html
    groups = client_of(make_user("eve")).get(f"evaluations/{evaluation.pk}/breakdowns/").json()["indicators"]
    lacking = {group["value"]: (group["indicator"], group["tasks"]) for group in groups if group["facet"] == "need"}
    assert lacking == {
        "solvable": ("accuracy", 120), "missing_file": ("accuracy", 40), "no_tool": ("accuracy", 40),
        "contradiction": ("accuracy", 40),
    }  # fmt: skip


def test_a_right_abstention_a_false_refusal_and_a_miss_are_told_apart_with_the_planners_reason(client, evaluation):
    right, refused, missed = (task_page(client, evaluation, one.key) for one in (IMPOSSIBLE, REFUSED, OTHER_IMPOSSIBLE))
    assert "The planner abstained. That is right: no tool can meet this request." in right
    assert "The lamp &amp; the switch are out of reach.</q>" in right
    assert re.findall(r'class="mark good">(\w+ \d)<', right) == ["Accuracy 1"]
    assert "The planner abstained. The request can be met" in refused
    assert re.findall(r'class="mark bad">(\w+ \d)<', refused) == ["Accuracy 0"]
    assert "No plan can meet this request; abstaining would have been right." in missed
    indicators = dict(TaskResult.objects.filter(evaluation=evaluation).values_list("task__key", "indicators"))
    worst = indicators[REFUSED.key]
    assert (worst["SE"], worst["NR"], worst["false_refusals"]) == (0.0, 0.0, 1.0)
    assert indicators[OTHER_IMPOSSIBLE.key] == {"accuracy": 0.0, "accuracy_undecided": 0.0, "misses": 1.0}
