"""The same planners with whole plans and step by step."""

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from evaluator.core.suites.registry import suite_of
from leaderboard.catalog.models import Suite, Task
from leaderboard.catalog.services import register_suite
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.evaluations.web.compare import forms
from leaderboard.planners.models import Planner
from tests.leaderboard.evaluations.web.factories import make_evaluation, make_planner, make_result, make_user
from tests.memory import forget_everything

pytestmark = pytest.mark.django_db
KEYS = [str(number) for number in range(20)]


@pytest.fixture
def suites() -> tuple[Suite, Suite]:
    """OpenAGI in both forms."""
    for slug in ("openagi", "openagi-turns"):
        register_suite(suite_of(slug))
    whole, steps = (Suite.objects.get(slug=slug, current=True) for slug in ("openagi", "openagi-turns"))
    return whole, steps


def planner(name: str = "thinker") -> Planner:
    return make_planner(owner=make_user(f"owner of {name}"), name=name)


def scored(suite: Suite, planner: Planner, score: float, **fields: object) -> Evaluation:
    """An evaluation in which 20 tasks have this score, a little more or less on each of 16 scenes."""
    made = make_evaluation(planner=planner, suite=suite, **{"data_digest": "d", **fields})
    for number, task in enumerate(Task.objects.filter(suite=suite, key__in=KEYS)):
        make_result(evaluation=made, task=task, samples=0)
        shift = 0.01 * (number % 2)
        TaskResult.objects.filter(evaluation=made, task=task).update(
            score=score + shift,
            sample_scores=[score + shift + 0.02 * (-1) ** scene * (scene % 3) * score for scene in range(16)],
        )
    return made


def page(client: Client, slug: str = "openagi-turns", status: int = 200) -> str:
    response = client.get(f"/compare/{slug}/")
    assert response.status_code == status
    return " ".join(response.content.decode().split())


def test_a_planner_in_both_forms_is_listed_with_the_paired_difference(client, suites):
    thinker = planner()
    whole, steps = scored(suites[0], thinker, 0.4), scored(suites[1], thinker, 0.5)
    html = page(client)
    assert "thinker" in html
    assert f'<a href="/evaluations/{whole.pk}/">0.405</a>' in html
    assert f'<a href="/evaluations/{steps.pk}/">0.505</a>' in html
    assert re.search(r'<td class="difference" data-tone="better">.*?<span class="value">\+0.100</span>', html)
    assert "20 tasks: 20 better, 0 worse, 0 equal" in html
    assert page(client, "openagi").count("<tr>") == html.count("<tr>"), "both forms lead to the same figures"


def test_both_boards_lead_there(client, suites):
    for suite in suites:
        assert suite.step_by_step_form == "openagi-turns"
    register_suite(suite_of("toolmini"))
    assert Suite.objects.get(slug="toolmini").step_by_step_form == ""
    assert Suite(slug="of another release").step_by_step_form == ""


def test_only_pairs_under_the_same_conditions_count_and_the_latest_of_them(client, suites):
    thinker, other = planner(), planner("other")
    scored(suites[0], thinker, 0.2)
    scored(suites[1], thinker, 0.9, samples=4)
    scored(suites[1], thinker, 0.9, data_digest="of another season")
    scored(suites[1], other, 0.9)
    assert "No planner has both yet." in page(client)
    scored(suites[1], thinker, 0.3)
    assert "+0.100" in page(client)


def test_what_boards_do_not_show_is_not_compared(client, suites):
    thinker = planner()
    scored(suites[0], thinker, 0.4)
    steps = scored(suites[1], thinker, 0.5)
    assert "thinker" in page(client)
    for hidden, visibility in ((steps.finished, "public"), (None, "private")):
        Evaluation.runs.filter(pk=steps.pk).update(hidden_at=hidden, hidden_reason="Twice." if hidden else "")
        type(steps.submission).objects.filter(pk=steps.submission_id).update(visibility=visibility)
        forget_everything()
        assert "No planner has both yet." in page(client)
    steps.delete()
    make_evaluation(planner=thinker, suite=suites[1], state="running", data_digest="d")
    scored(suites[1], thinker, 0.5, verifies=scored(suites[1], planner("verified"), 0.5))
    forget_everything()
    html = page(client)
    assert "thinker" not in html
    assert "No planner has both yet." in html


def test_queries_do_not_grow_with_the_planners(client, suites, monkeypatch):
    monkeypatch.setattr(forms, "MOST", 3)
    counts = []
    for number in range(5):
        one = planner(f"planner {number}")
        scored(suites[0], one, 0.4)
        scored(suites[1], one, 0.5)
        if number in {0, 4}:
            forget_everything()
            with CaptureQueriesContext(connection) as queries:
                html = page(client)
            counts.append(len(queries))
    assert counts[0] == counts[1] <= 12
    assert html.count('<th scope="row">') == 3
