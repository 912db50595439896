"""The transition table, and which evaluations count as submitted. Pure."""

from pathlib import Path

import pytest

from leaderboard.evaluations import transitions
from leaderboard.evaluations.models import AttemptState, EvaluationState, ShardState
from leaderboard.evaluations.reasons import EvaluationReason, sentence


def test_every_state_stands_in_the_tables():
    assert set(transitions.EVALUATION) == set(EvaluationState)
    assert set(transitions.ATTEMPT) == set(AttemptState)
    assert set(transitions.SHARD) == set(ShardState)
    assert set(transitions.DEADLINES) == set(EvaluationState)


def test_all_states_have_a_deadline_but_final_ones_and_waiting_for_a_worker():
    without = {state for state, lasts in transitions.DEADLINES.items() if lasts is None}
    assert without - {"launching"} == transitions.FINAL == {"completed", "failed", "cancelled"}
    assert "launching" in without


def test_whatever_is_not_final_can_complete_be_cancelled_and_fail():
    for state in set(EvaluationState) - transitions.FINAL:
        assert {EvaluationState.CANCELLED, EvaluationState.FAILED} <= transitions.EVALUATION[state]
        reachable, frontier = set(), {state}
        while frontier:
            reachable |= frontier
            frontier = {after for before in frontier for after in transitions.EVALUATION[before]} - reachable
        assert EvaluationState.COMPLETED in reachable, state


def test_a_transition_that_the_table_lacks_is_refused():
    transitions.check(source=EvaluationState.RUNNING, target=EvaluationState.AGGREGATING)
    with pytest.raises(transitions.IllegalTransitionError, match="cannot go from completed to running"):
        transitions.check(source=EvaluationState.COMPLETED, target=EvaluationState.RUNNING)


def test_every_reason_is_a_sentence():
    facts = {"detail": "so.", "count": 1, "total": 2, "days": 3, "hours": 4, "who": "its owner", "seconds": 15}
    texts = [sentence(reason, **facts) for reason in EvaluationReason]
    assert [text for text in texts if text[0].islower() or not text.endswith(".") or "{" in text] == []


ROOT = Path(__file__).resolve().parents[3] / "leaderboard"
MAY = frozenset({
    "evaluations/submitted.py",
    # What a closed account has under way is cancelled, members too.
    "operations/leaving/closing.py",
})  # fmt: skip


def test_no_other_code_asks_only_whether_an_evaluation_is_a_verification():
    """One condition says which evaluations were submitted: code that forgets members would rank or list them."""
    found = {
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*.py")
        if "verifies=None" in path.read_text().replace("verifies=None, member_of=None", "")
        and "migrations" not in path.parts
    }
    assert found - {"evaluations/models.py"} == MAY - {"evaluations/submitted.py"}
