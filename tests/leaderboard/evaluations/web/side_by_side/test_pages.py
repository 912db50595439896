"""The page of one task across planners."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from evaluator.core.records import Reason
from leaderboard.boards.services import publish
from leaderboard.catalog.models import Task
from leaderboard.evaluations.models import Evaluation, Submission, Visibility
from tests.leaderboard.evaluations.web.factories import (
    make_evaluation,
    make_planner,
    make_result,
    make_suite,
    make_user,
)
from tests.leaderboard.factories import closed_season

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store")]
KEY = "25"


@pytest.fixture
def pair() -> list[Evaluation]:
    """A gold plan with three samples, and another plan that is invalid."""
    suite = make_suite()
    task = Task.objects.get(suite=suite, key=KEY)
    found = []
    for name, fault in (("ada", None), ("bea", Reason.INVALID_PLAN)):
        planner = make_planner(owner=make_user(name), name=f"planner of {name}", bundled_name="random-valid")
        found.append(make_evaluation(planner=planner, suite=suite))
        make_result(evaluation=found[-1], task=task, fault=fault, samples=3)
        publish(found[-1])
    return found


def address(*evaluations: Evaluation, key: str = KEY, suite: str = "openagi") -> str:
    query = "&".join(f"e={one.pk}" for one in evaluations)
    return f"{reverse('evaluations:task-across', args=[suite, key])}?{query}"


def test_plans_stand_beside_each_other_with_their_differences(client: Client, pair: list[Evaluation]):
    html = client.get(address(*pair)).content.decode()
    assert html.count('class="plan-graph"') == 2
    assert html.count('class="node step differing"') >= 2
    assert "Steps that not every plan has." in html
    assert re.search(r">\s*B: Image Captioning[,.]", html)
    for one in pair:
        assert reverse("evaluations:task", args=[one.pk, KEY]) in html


def test_the_best_of_the_board_are_shown_and_boards_comparisons_and_tasks_lead_there(client: Client, pair):
    html = client.get(address()).content.decode()
    assert all(f"planner of {name}" in html for name in ("ada", "bea"))
    assert client.get(address(key="no-such-task")).status_code == 404
    assert client.get(address(suite="nothing")).status_code == 404
    path = reverse("evaluations:task-across", args=["openagi", KEY])
    assert path in client.get("/boards/openagi/tasks/").content.decode()
    both = f"{path}?e={pair[0].pk}&amp;e={pair[1].pk}"
    assert both in client.get(f"/compare/?e={pair[0].pk}&e={pair[1].pk}").content.decode()
    assert both in client.get(reverse("evaluations:task", args=[pair[0].pk, KEY])).content.decode()


def test_what_does_not_belong_together_is_refused(client: Client, pair: list[Evaluation]):
    other = make_evaluation(planner=pair[0].submission.planner, suite=pair[0].suite, samples=2)
    assert b"They differ in the number of samples" in client.get(address(pair[0], other)).content
    many = [make_evaluation(planner=pair[0].submission.planner, suite=pair[0].suite) for _ in range(4)]
    answer = client.get(address(pair[0], *many))
    assert answer.status_code == 400
    assert b"at most 4" in answer.content


def test_a_private_evaluation_does_not_exist_for_others(client: Client, pair: list[Evaluation]):
    private = make_evaluation(planner=pair[1].submission.planner, suite=pair[0].suite)
    Submission.objects.filter(pk=private.submission_id).update(visibility=Visibility.PRIVATE)
    answer = client.get(address(pair[0], private))
    assert answer.status_code == 400
    assert f"There is no evaluation {private.pk}" in answer.content.decode()
    client.force_login(private.submission.planner.owner)
    own = client.get(address(pair[0], private))
    assert own.status_code == 200
    assert "no-store" in own.headers["Cache-Control"]


def test_of_a_hidden_split_neither_samples_nor_gold_plans_are_shown(client: Client, settings, pair: list[Evaluation]):
    settings.SPLIT = "hidden"
    suite, hidden = pair[0].suite, []
    for one, strategy in zip(pair, ("random-valid", "gold"), strict=True):
        planner = make_planner(owner=one.submission.planner.owner, name=f"hidden {strategy}", bundled_name=strategy)
        hidden.append(make_evaluation(planner=planner, suite=suite, split="hidden", season=closed_season()))
        make_result(evaluation=hidden[-1], task=Task.objects.get(suite=suite, key=KEY))
    html = client.get(address(*hidden)).content.decode()
    assert html.count('class="plan-graph"') == 1
    assert "The plan is not shown." in html
    assert "Scores by sample" not in html
    assert "/objects/" not in html
