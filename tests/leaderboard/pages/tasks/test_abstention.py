"""A planner that abstains, on the page of its task and in its record."""

import pytest
from django.utils.html import escape

from leaderboard.evaluations.models import TaskResult
from leaderboard.results.objects import read_record, server_store
from tests.fakes.planners import RELUCTANCE
from tests.leaderboard.planning import REAL, make_clumsy_evaluation

pytestmark = pytest.mark.django_db


@pytest.fixture
def evaluation(settings, launcher):
    settings.EVALUATOR = REAL
    return make_clumsy_evaluation(mistakes={"QA/0": "abstains", "QA/1": "nothing"})


def page(client, evaluation, key):
    return client.get(f"/evaluations/{evaluation.pk}/tasks/{key}/").content.decode()


def test_the_reason_is_in_the_record_and_on_the_page(client, evaluation):
    row = TaskResult.objects.get(evaluation=evaluation, task__key="QA/0")
    record = read_record(digest=row.record_digest, store=server_store(split="public"))
    assert record.plan_received == {"plan": None, "reason": RELUCTANCE}
    assert (record.outcome, record.score, record.indicators["NR"], record.indicators["SE"]) == ("scored", 0.0, 0.0, 0.0)
    html = page(client, evaluation, "QA/0")
    assert "The planner abstained. The request can be met" in html
    assert f">{escape(RELUCTANCE)}</q>" in html
    assert RELUCTANCE not in html, "a stranger's text is escaped"


def test_an_empty_plan_gives_no_reason(client, evaluation):
    html = page(client, evaluation, "QA/1")
    assert "The planner abstained: its plan has no steps and no answers." in html
    assert "Its reason" not in html
