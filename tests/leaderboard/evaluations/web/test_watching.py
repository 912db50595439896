"""Watching a plan run: which task is replayed, from which times, and for whom."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from evaluator.core.records import ResultRecord
from evaluator.core.suites.hidden import HIDDEN
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.models import Evaluation, EvaluationState, Submission, TaskResult, Visibility
from leaderboard.evaluations.web.watching import live_task, public_results
from tests.leaderboard.evaluations.web.factories import (
    keep_result,
    make_evaluation,
    make_planner,
    make_record,
    make_result,
    make_suite,
    make_user,
)
from tests.memory import forget_everything

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store")]


@pytest.fixture
def suite() -> Suite:
    return make_suite()


@pytest.fixture
def evaluation(suite) -> Evaluation:
    return make_evaluation(planner=make_planner(owner=make_user(), name="mine"), suite=suite)


def task_of(suite: Suite, *, tools: int) -> Task:
    """The first task whose gold plan has this number of steps and can be run by the factory."""
    tasks = Task.objects.filter(suite=suite, metric="ViT").order_by("position")
    return next(task for task in tasks if len(task.gold["steps"]) == tools)


def timed(task: Task, *, seconds: float) -> ResultRecord:
    """A record whose executed steps took this time each; those of the second sample were in the store."""
    record = make_record(task=task)
    for sample in record.samples:
        for step in sample.steps:
            step.seconds = 0.0 if step.cached else seconds
    return record


def ended(result: TaskResult, *, minutes_ago: float) -> TaskResult:
    TaskResult.objects.filter(pk=result.pk).update(updated=timezone.now() - timedelta(minutes=minutes_ago))
    return result


def shown():
    return live_task(public_results(), again="/watch/")


def test_the_newest_executed_task_is_shown_with_the_recorded_times_of_its_steps(suite, evaluation):
    task = task_of(suite, tools=2)
    ended(make_result(evaluation=evaluation, task=task_of(suite, tools=1)), minutes_ago=9)
    keep_result(timed(task, seconds=2.5), evaluation=evaluation, task=task)
    found = shown()
    assert found.key == task.key
    assert [step.tool for step in found.steps] == [step["tool"] for step in task.gold["steps"]]
    assert [(step.seconds, step.runs, step.stored) for step in found.steps] == [(2.5, 2, 1)] * 2
    assert found.planning_seconds == 0.012
    assert {step.node for step in found.steps} <= {node.key for node in found.graph.nodes}
    assert found.speed_words == "at the recorded speed"


def test_the_speed_keeps_a_replay_below_ten_seconds(suite, evaluation):
    task = task_of(suite, tools=2)
    keep_result(timed(task, seconds=300), evaluation=evaluation, task=task)
    found = shown()
    assert sum(step.seconds for step in found.steps) / found.speed <= 10
    assert found.speed_words == "100 times faster"


def test_a_task_of_a_running_evaluation_is_shown_and_said_to_be_followed(suite):
    running = make_evaluation(
        planner=make_planner(owner=make_user(), name="mine"), suite=suite, state=EvaluationState.RUNNING
    )
    make_result(evaluation=running, task=task_of(suite, tools=1))
    assert shown().is_running
    page = Client().get("/watch/").content.decode()
    assert "data-running" in page
    assert "The evaluation is running" in page


@pytest.mark.parametrize(
    "hide",
    [
        lambda made: Submission.objects.update(visibility=Visibility.PRIVATE),
        lambda made: Evaluation.objects.update(split=HIDDEN),
        lambda made: Evaluation.objects.update(hidden_at=timezone.now(), hidden_reason="wrong"),
        lambda made: TaskResult.objects.update(plan_summary=""),
    ],
    ids=["private", "hidden split", "hidden by an operator", "without steps"],
)
def test_what_not_everybody_may_see_is_never_shown(suite, evaluation, hide):
    make_result(evaluation=evaluation, task=task_of(suite, tools=1))
    assert shown() is not None
    hide(evaluation)
    assert shown() is None
    assert "No plan to watch yet" in Client().get("/watch/").content.decode()


def test_an_owner_watches_a_private_evaluation_and_nobody_else_does(suite, evaluation, client):
    make_result(evaluation=evaluation, task=task_of(suite, tools=1))
    Submission.objects.update(visibility=Visibility.PRIVATE)
    address = f"/evaluations/{evaluation.pk}/watch/"
    assert client.get(address).status_code == 404
    client.force_login(evaluation.submission.submitted_by)
    page = client.get(address).content.decode()
    assert 'id="live-task"' in page
    assert f'data-again="{address}"' in page


def test_a_task_whose_record_is_lost_gives_way_to_the_one_before(suite, evaluation):
    older, lost = task_of(suite, tools=1), task_of(suite, tools=2)
    ended(make_result(evaluation=evaluation, task=older), minutes_ago=9)
    make_result(evaluation=evaluation, task=lost)
    TaskResult.objects.filter(task=lost).update(record_digest="0" * 64)
    assert shown().key == older.key


def test_the_page_lists_every_step_with_its_time_and_links_to_the_task(suite, evaluation):
    task = task_of(suite, tools=2)
    keep_result(timed(task, seconds=2.5), evaluation=evaluation, task=task)
    page = Client().get("/watch/").content.decode()
    assert re.findall(r'data-step="([a-z0-9:]+)"', page) == ["plan", "step:0", "step:1", "answer"]
    assert re.findall(r'data-seconds="([0-9.]+)"', page) == ["0.012", "2.5", "2.5", "0"]
    assert f"/evaluations/{evaluation.pk}/tasks/{task.key}/" in page
    assert "2 runs, 1 from the store, 2.5 s" in " ".join(page.split())


def test_the_home_page_shows_the_task_with_its_steps_folded(suite, evaluation):
    assert 'id="live-task"' not in Client().get("/").content.decode()
    forget_everything()
    make_result(evaluation=evaluation, task=task_of(suite, tools=1))
    page = Client().get("/").content.decode()
    assert 'data-again="/watch/"' in page
    assert "<details><summary" in page
    assert "<details open><summary" in Client().get("/watch/").content.decode()


def test_another_task_changes_the_tag_of_the_home_page(suite, evaluation):
    make_result(evaluation=evaluation, task=task_of(suite, tools=1))
    before = Client().get("/")["ETag"]
    make_result(evaluation=evaluation, task=task_of(suite, tools=2))
    forget_everything()
    assert Client().get("/")["ETag"] != before
