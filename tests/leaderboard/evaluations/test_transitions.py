"""The transition table, and which evaluations count as submitted."""

from pathlib import Path

import pytest

from leaderboard.evaluations import states
from leaderboard.evaluations.models import (
    AttemptState,
    Evaluation,
    EvaluationReason,
    EvaluationState,
    ShardState,
    sentence,
)
from tests.leaderboard.factories import make_evaluation


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
    facts = {"detail": "so.", "count": 1, "total": 2, "days": 3, "hours": 4, "who": "its owner", "seconds": 15}
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


@pytest.mark.django_db
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
