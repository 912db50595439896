"""The transition table, tasks that never ran, and which evaluations count as submitted."""

from pathlib import Path

import pytest

from evaluator.execution.engine.store import MemoryStore
from leaderboard.evaluations import states
from leaderboard.evaluations.models import (
    AttemptState,
    Evaluation,
    EvaluationReason,
    EvaluationState,
    ShardState,
    sentence,
)
from leaderboard.evaluations.states import NewResult, announce, describe
from leaderboard.evaluations.web.gathering import evaluation_page
from leaderboard.queue.reconcile import sweep
from leaderboard.queue.workers.finishing import deliver
from leaderboard.submissions import services
from tests.leaderboard.factories import let_time_pass, make_evaluation, make_lease, make_record, make_suite

pytestmark = pytest.mark.django_db


def test_every_state_stands_in_the_tables():
    assert set(states.EVALUATION) == set(EvaluationState)
    assert set(states.ATTEMPT) == set(AttemptState)
    assert set(states.SHARD) == set(ShardState)
    assert set(states.DEADLINES) == set(EvaluationState)


def test_all_states_have_a_deadline_but_final_ones_and_waiting_for_a_worker():
    without = {state for state, lasts in states.DEADLINES.items() if lasts is None}
    assert without - {"launching"} == states.FINAL == {"completed", "failed", "cancelled"}
    assert "launching" in without


def test_whatever_is_not_final_can_complete_be_cancelled_and_fail():
    for state in set(EvaluationState) - states.FINAL:
        assert {EvaluationState.CANCELLED, EvaluationState.FAILED} <= states.EVALUATION[state]
        reachable, frontier = set(), {state}
        while frontier:
            reachable |= frontier
            frontier = {after for before in frontier for after in states.EVALUATION[before]} - reachable
        assert EvaluationState.COMPLETED in reachable, state


def test_a_transition_that_the_table_lacks_is_refused():
    states.check_transition(source=EvaluationState.RUNNING, target=EvaluationState.AGGREGATING)
    with pytest.raises(states.IllegalTransitionError, match="cannot go from completed to running"):
        states.check_transition(source=EvaluationState.COMPLETED, target=EvaluationState.RUNNING)


def test_every_reason_is_a_sentence():
    facts = {
        "detail": "so.",
        "count": 1,
        "total": 2,
        "days": 3,
        "hours": 4,
        "who": "its owner",
        "seconds": 15,
        "profile": "paper",
    }
    texts = [sentence(reason, **facts) for reason in EvaluationReason]
    assert [text for text in texts if text[0].islower() or not text.endswith(".") or "{" in text] == []


ROOT = Path(__file__).resolve().parents[3] / "leaderboard"


def test_no_other_code_asks_only_whether_an_evaluation_is_a_verification():
    """The default manager says which evaluations were submitted: code that forgets members would rank or list them."""
    found = {
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*.py")
        if "verifies=None" in path.read_text() and "migrations" not in path.parts
    }
    # What a closed account has under way is cancelled, members too.
    assert found == {"evaluations/models.py", "operations/leaving/closing.py"}


def test_lists_hold_submitted_evaluations_and_the_queue_every_run():
    evaluation = make_evaluation()
    fields = {
        field.attname: getattr(evaluation, field.attname)
        for field in Evaluation._meta.concrete_fields
        if field.name not in {"id", "verifies", "member_of"}
    }
    verification = Evaluation.runs.create(**fields, verifies=evaluation)
    member = Evaluation.runs.create(**{**fields, "repetition": 2}, member_of=evaluation)
    assert list(Evaluation.objects.all()) == list(evaluation.submission.evaluations.all()) == [evaluation]
    assert set(Evaluation.runs.all()) == {evaluation, verification, member}
    assert (list(evaluation.verifications), list(evaluation.members)) == ([verification], [member])
    assert [run.is_submitted for run in (evaluation, verification, member)] == [True, False, False]


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
