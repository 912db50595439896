"""Tasks that nobody asks a planner for, since it could not be reached before: counts, and what their owner does."""

import re

import pytest
from django.test import Client

from leaderboard.catalog.models import Task
from leaderboard.evaluations.models import Evaluation, EvaluationState, TaskResult
from leaderboard.evaluations.states import describe
from leaderboard.evaluations.web.gathering import latest_results
from leaderboard.queue.reconcile import sweep
from leaderboard.queue.unreachable import count_against_planner
from leaderboard.submissions import services
from tests.leaderboard.evaluations.web.factories import make_evaluation, make_planner, make_user
from tests.leaderboard.evaluations.web.factories import make_suite as make_openagi
from tests.leaderboard.platform.api.helpers import ApiClient
from tests.leaderboard.queue.test_canary import dead_endpoint

pytestmark = pytest.mark.django_db


@pytest.fixture
def dead(settings, launcher) -> Evaluation:
    """On hold: one task cannot run here, one found the endpoint dead, and 19 were not asked."""
    settings.TASKS_PER_SHARD = 2
    return dead_endpoint()


def line(client: Client, evaluation: Evaluation) -> str:
    """How many tasks have finished, as the page says it."""
    html = client.get(f"/evaluations/{evaluation.pk}/").content.decode()
    finished = re.search(r'data-live="done">(\d+)</b> of <span data-live="total">(\d+)</span> tasks finished', html)
    assert finished is not None
    done, total = finished.groups()
    tally = re.findall(r'data-live-outcome="(\w+)">(\d+)', html)
    return f"{done} of {total}: " + ", ".join(f"{count} {outcome}" for outcome, count in tally if count != "0")


def test_page_api_and_events_count_them_as_not_run_and_say_why(dead: Evaluation, client: Client):
    assert line(client, dead) == "2 of 21: 1 infra_fault, 20 not_run"
    told = ApiClient().get(f"evaluations/{dead.pk}/").json()
    assert (told["state"], told["done"], told["tasks_total"]) == ("on_hold", 2, 21)
    event = describe(dead.pk)
    assert (event["done"], event["outcomes"]) == (2, {"infra_fault": 1, "not_run": 20})
    assert [one["task"] for one in latest_results(dead.pk)] == ["0"]

    # They are listed with their reason and without a cause.
    found = ApiClient().get(f"evaluations/{dead.pk}/results/", reason="endpoint_unavailable", outcome="not_run").json()
    assert len(found["results"]) == 19
    assert {one["reason_text"] for one in found["results"]} == {"Not asked: Said 0."}
    assert all(one["causes"] == [] for one in found["results"])
    causes = ApiClient().get(f"evaluations/{dead.pk}/causes/").json()
    assert causes["ran"] == 1
    html = client.get(f"/evaluations/{dead.pk}/tasks/7/").content.decode()
    assert "The planner was not asked, because tasks before this one could not be run." in html
    assert "it is the same" not in html


def test_accepted_they_are_faults_of_the_planner(dead: Evaluation, client: Client):
    assert services.accept(dead) == 20
    sweep()
    dead.refresh_from_db()
    assert dead.state == EvaluationState.COMPLETED
    assert dead.summary["outcomes"] == {"not_run": 1, "planner_fault": 20}
    assert dead.summary["metrics"]["overall"]["mean"] == 0.0
    # No reply came, so that none was unreadable.
    assert dead.summary["reading"] == {"replies": 0, "unreadable": 0, "tolerated": {}}
    accepted = list(dead.results.filter(accepted=True))
    assert len(accepted) == 20
    assert line(client, dead) == "21 of 21: 20 planner_fault, 1 not_run"


@pytest.mark.usefixtures("own_store")
def test_accepted_they_have_the_cause_of_a_planner_that_is_away():
    evaluation = make_evaluation(planner=make_planner(owner=make_user("bea")), suite=make_openagi())
    tasks = list(Task.objects.filter(suite=evaluation.suite)[:3])
    TaskResult.objects.bulk_create(
        TaskResult(evaluation=evaluation, task=task, outcome="not_run", reason="endpoint_unavailable", causes=[])
        for task in tasks
    )
    assert count_against_planner(evaluation) == 3
    assert [one.causes[0]["cause"] for one in evaluation.results.all()] == ["unavailable"] * 3
