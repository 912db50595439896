"""The transition table. Pure."""

from itertools import product

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


def test_every_state_leads_to_every_final_state_that_it_may_end_in():
    for state in set(EvaluationState) - transitions.FINAL:
        reachable, frontier = set(), {state}
        while frontier:
            reachable |= frontier
            frontier = {after for before in frontier for after in transitions.EVALUATION[before]} - reachable
        assert reachable >= transitions.FINAL, f"{state} cannot end everywhere"


def test_whatever_is_not_final_can_be_cancelled_and_can_fail():
    for state in set(EvaluationState) - transitions.FINAL:
        assert {EvaluationState.CANCELLED, EvaluationState.FAILED} <= transitions.EVALUATION[state]


def test_a_transition_is_refused_unless_the_table_has_it():
    for source, target in product(EvaluationState, repeat=2):
        if target in transitions.EVALUATION[source]:
            transitions.check(source=source, target=target)
        else:
            with pytest.raises(transitions.IllegalTransitionError, match=f"cannot go from {source} to {target}"):
                transitions.check(source=source, target=target)


def test_every_reason_is_a_sentence():
    facts = {"detail": "so.", "count": 1, "total": 2, "days": 3, "hours": 4, "who": "its owner", "seconds": 15}
    texts = [sentence(reason, **facts) for reason in EvaluationReason]
    assert [text for text in texts if text[0].islower() or not text.endswith(".") or "{" in text] == []
