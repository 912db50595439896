"""What a page learns of an evaluation that is under way: at first sight, and by asking again."""

import pytest
from django.test import Client
from django.utils import timezone

from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.evaluations.states import LATEST, snapshot
from tests.leaderboard.evaluations.web.factories import (
    evaluation_page,
    make_evaluation,
    make_planner,
    make_result,
    make_suite,
    make_user,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def suite() -> Suite:
    return make_suite()


def under_way(suite: Suite, *, name: str = "ada", state: str = "launching", shards: int = 3) -> Evaluation:
    made = make_evaluation(planner=make_planner(owner=make_user(name)), suite=suite, state=state)
    for number in range(shards):
        made.shards.create(number=number, task_keys=[str(number)], available_at=timezone.now())
    return made


def progress(client: Client, evaluation: Evaluation) -> dict:
    response = client.get(f"/evaluations/{evaluation.pk}/progress/")
    assert response.status_code == 200
    assert response["Cache-Control"] == "no-store"
    return response.json()


def test_while_it_waits_the_page_says_its_place_and_why(client: Client, suite: Suite):
    under_way(suite)
    mine = under_way(suite, name="bea")
    waiting = progress(client, mine)["waiting"]
    assert waiting.startswith("Place 2 in the queue: 1 evaluation with 3 waiting shards is before it.")
    assert waiting in evaluation_page(client, mine)


def test_what_ended_last_comes_first_and_tasks_that_cannot_run_are_left_out(client: Client, suite: Suite):
    running = under_way(suite, state="running")
    for key in ("0", "1", "2", "3", "4", "6", "7"):
        make_result(evaluation=running, task=Task.objects.get(key=key), samples=0)
    not_run = Task.objects.get(key="130")
    TaskResult.objects.create(evaluation=running, task=not_run, outcome="not_run", reason="no_expert")
    found = progress(client, running)
    assert [one["task"] for one in found["results"]] == ["7", "6", "4", "3", "2"]
    assert (found["done"], found["total"], found["outcomes"]) == (8, 185, {"not_run": 1, "scored": 7})
    html = evaluation_page(client, running)
    part = html[html.index('data-live="latest"') : html.index("</ol>", html.index('data-live="latest"'))]
    assert part.count("<li") == LATEST
    assert f'href="/evaluations/{running.pk}/tasks/7/"' in part
    late = under_way(suite, name="cleo", state="running")
    for key in ("7", "2", "4"):
        make_result(evaluation=late, task=Task.objects.get(key=key), samples=0)
    assert [one["task"] for one in snapshot(late.pk)["results"]] == ["7", "2", "4"], "in the order of their coming"


def test_a_long_facet_is_a_form_that_keeps_the_other_filters(client: Client, suite: Suite):
    done = make_evaluation(planner=make_planner(owner=make_user()), suite=suite)
    for position, task in enumerate(Task.objects.filter(suite=suite)[:20]):
        TaskResult.objects.create(
            evaluation=done, task=task, outcome="scored", score=0.5, plan_summary=f"Tool {position:02} → Colorization"
        )
    address = f"/evaluations/{done.pk}/"
    html = client.get(address, {"outcome": "scored", "q": "image"}).content.decode()
    form = html[html.index('<select id="f-tool"') - 900 : html.index("</select>", html.index('<select id="f-tool"'))]
    assert '<input type="hidden" name="outcome" value="scored">' in form
    assert '<input type="hidden" name="q" value="image">' in form
    assert '<option value="Tool 07">Tool 07 (1)</option>' in form
    assert '<option value="Colorization">Colorization (20)</option>' in form
    chosen = client.get(address, {"tool": "Tool 07"}).content.decode()
    assert "1 of 185 shown" in chosen
    assert '<option value="Tool 07" selected>' in chosen
    assert '<details class="further-filters" open>' in chosen


def test_a_cause_leads_to_its_tasks(client: Client, suite: Suite):
    done = make_evaluation(planner=make_planner(owner=make_user()), suite=suite)
    tasks = list(Task.objects.filter(suite=suite)[:3])
    for task, text in zip(tasks, ('input "a" is text', 'input "b" is text', "the plan has a cycle"), strict=True):
        TaskResult.objects.create(
            evaluation=done, task=task, outcome="planner_fault", reason="invalid_plan", reason_text=text, score=0.0
        )
    html = evaluation_page(client, done)
    start = html.index('href="?cause=')
    link = html[start + 6 : html.index("#results", start)]
    assert html.index(">2 tasks</a>") > start
    assert "2 of 185 shown" in client.get(f"/evaluations/{done.pk}/{link}").content.decode()
