"""Pages of a suite whose plans are executed and judged: real plans, real experts, and what they found."""

import re

import pytest
from django.test import Client

from evaluator.core.records import Outcome, Reason
from leaderboard.boards.services import publish
from leaderboard.evaluations.models import Evaluation, TaskResult
from tests.leaderboard.evaluations.web.factories import make_user, read, task_page
from tests.leaderboard.executed import BOXES, COUNT, MASK, MOTION, SLUG, WRONG_SIZE, make_executed_evaluation

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def made(module_rows) -> Evaluation:
    return make_executed_evaluation(user=make_user())


@pytest.fixture
def evaluation(made) -> Evaluation:
    return Evaluation.objects.get(pk=made.pk)


def test_what_was_found_is_drawn_and_what_was_wanted_is_said(client: Client, evaluation: Evaluation):
    boxes = task_page(client, evaluation, BOXES)
    assert boxes.count('<path class="border"') >= 4
    assert "Solution" in boxes
    masks = task_page(client, evaluation, MASK)
    assert masks.count('<path class="region"') >= 4
    for html in (boxes, masks):
        # Each picture below what was found is one of the inputs.
        below = set(re.findall(r'<image href="(/objects/\w+)"', html))
        assert len(below) == 2
        assert all(f'<img src="{address}"' in html for address in below)
    motion = task_page(client, evaluation, MOTION)
    assert re.search(r"<blockquote[^>]*>[a-z ]+ \([01]\.\d\d\)", motion)


def test_a_plan_that_counts_too_much_is_executed_and_does_not_solve_the_request(client: Client, evaluation: Evaluation):
    result = TaskResult.objects.get(evaluation=evaluation, task__key=COUNT)
    assert result.outcome == Outcome.SCORED
    assert result.indicators["SE"] == 0
    assert result.score is not None
    assert result.score < 1
    solved = TaskResult.objects.get(evaluation=evaluation, task__key=BOXES)
    assert (solved.indicators["SE"], solved.indicators["relative"]) == (1, 1)
    html = task_page(client, evaluation, COUNT)
    assert "does not solve it" in html


def test_inputs_that_do_not_go_together_are_the_planners_fault(client: Client, evaluation: Evaluation):
    result = TaskResult.objects.get(evaluation=evaluation, task__key=WRONG_SIZE)
    assert (result.outcome, result.reason) == (Outcome.PLANNER_FAULT, Reason.UNFIT_INPUT)
    html = task_page(client, evaluation, WRONG_SIZE)
    assert "they must be equal" in html
    # What a judge found right before would contradict what the columns count.
    assert "Every resource exists" not in html


def test_clips_and_findings_are_served_as_what_they_are_and_run_nothing(client: Client, evaluation: Evaluation):
    kinds = set()
    for record in (task_page(client, evaluation, key) for key in (BOXES, MOTION)):
        for digest in set(re.findall(r"/objects/(\w{64})", record)):
            response = client.get(f"/objects/{digest}")
            kinds.add(response["Content-Type"])
            assert response["X-Content-Type-Options"] == "nosniff"
            assert "sandbox" in response["Content-Security-Policy"]
    assert kinds >= {"image/png", "image/apng", "application/json"}


def test_the_board_says_whether_a_judgement_predicts_the_result_of_plans_that_are_not_gold(
    client: Client, evaluation: Evaluation
):
    publish(evaluation)
    html = read(client, f"/boards/{SLUG}/")
    columns = re.findall(r'id="sort-(\w+)"', html)
    assert columns.index("score") < columns.index("SE")
    section = html[html.index('id="execution-agreement"') :].split("</section>")[0]
    # Five right plans, one that counts too much, and a fault, which was not executed and says nothing.
    assert "The table covers the 6 plans of this board" in " ".join(section.split())
    found = dict(re.findall(r'<th scope="row">([^<]+)</th><td class="right num">([^<]+)</td>', section))
    assert found["Good results among plans with SE = 1"] == "1.000"
    count = TaskResult.objects.get(evaluation=evaluation, task__key=COUNT)
    assert float(found["Share of the gold plan&#x27;s score, SE = 0"]) == pytest.approx(
        count.indicators["relative"], abs=1e-3
    )
    planner = evaluation.submission.planner
    planner.bundled_name = "gold"
    planner.save()
    publish(evaluation)
    assert "execution-agreement" not in read(client, f"/boards/{SLUG}/")
