"""Tasks that the end of an evaluation leaves out: they say so, and no count takes them for tasks that ended.

Also that events fit into what PostgreSQL takes.
"""

import pytest

from evaluator.execution.engine.store import MemoryStore
from leaderboard.evaluations import states
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.evaluations.states import NewResult, announce, describe
from leaderboard.evaluations.web.presenters import evaluation_page
from leaderboard.queue.reconcile import sweep
from leaderboard.queue.workers.finishing import deliver
from leaderboard.submissions import services
from tests.leaderboard.factories import let_time_pass, make_evaluation, make_lease, make_record, make_suite

pytestmark = pytest.mark.django_db


@pytest.fixture
def one_of_four() -> Evaluation:
    """An evaluation of four tasks, one of which has ended, and of another that cannot run."""
    evaluation = make_evaluation(state=EvaluationState.LAUNCHING, suite=make_suite(runnable=4, not_run=1))
    lease = make_lease(evaluation)
    deliver(
        attempt_id=lease.attempt.pk,
        records=[make_record("0", suite=evaluation.suite.slug)],
        store=MemoryStore(),
    )
    evaluation.refresh_from_db()
    return evaluation


def fail(evaluation: Evaluation) -> None:
    let_time_pass(evaluation)
    sweep()
    evaluation.refresh_from_db()
    assert evaluation.state == EvaluationState.FAILED


def test_tasks_of_a_failed_evaluation_are_not_run_for_the_reason_that_it_failed(one_of_four, launcher):
    fail(one_of_four)
    found = one_of_four.results.filter(reason="evaluation_failed").order_by("task__position")
    assert [(result.task.key, result.outcome) for result in found] == [(key, "not_run") for key in "123"]
    assert {result.reason_text for result in found} == {one_of_four.reason_text}
    assert one_of_four.results.get(task__key="0").outcome == "scored"


@pytest.mark.parametrize("end", [fail, services.cancel])
def test_page_events_and_api_count_the_same_tasks_as_ended(end, one_of_four, launcher, client):
    end(one_of_four)
    one_of_four.refresh_from_db()
    left_out = "cancelled" if one_of_four.state == "cancelled" else "not_run"
    page = evaluation_page(evaluation=one_of_four, parameters={}).progress
    assert (page.done, page.total) == (2, 5)
    told = states.describe(one_of_four.pk)
    assert (told["done"], told["total"]) == (2, 5)
    assert told["outcomes"][left_out] == dict(page.counts)[left_out] >= 3
    assert dict(page.counts)["pending"] == 0
    assert client.get(f"/api/v1/evaluations/{one_of_four.pk}/").json()["done"] == 2


def test_the_event_of_a_cancellation_counts_the_tasks_that_it_cancels(one_of_four):
    sent: list[dict] = []
    original, states._notify = states._notify, lambda evaluation_id, event: sent.append(event)
    try:
        services.cancel(one_of_four)
    finally:
        states._notify = original
    assert sent[0]["outcomes"] == {"cancelled": 3, "not_run": 1, "scored": 1}


RESULTS = [NewResult(task=f"{number:060d}", outcome="planner_fault", score=0.12345678901234568) for number in range(90)]


@pytest.mark.parametrize("character", ["a", "ä", "語", "\N{GRINNING FACE}", '"'])
def test_results_are_told_whatever_the_reason_says(character):
    evaluation = make_evaluation(state=EvaluationState.RUNNING)
    # What a worker or planner said may stand in it; each of its characters takes up to twelve bytes as JSON.
    Evaluation.objects.filter(pk=evaluation.pk).update(reason_text=character * 1000)
    announce(evaluation_id=evaluation.pk, results=RESULTS)
    told = describe(evaluation.pk)["reason_text"]
    assert set(told) == {character}
    assert 100 < len(told) <= 400
