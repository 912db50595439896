"""How outcomes are shown where the plan is empty."""

import pytest

from leaderboard.results.badges import badge_of, sentence_in_place_of_steps

EMPTY = {"steps": [], "answers": []}


def test_a_scored_task_without_steps_has_a_badge_of_its_own():
    assert badge_of(outcome="scored", plan_summary="") == "empty_plan"


@pytest.mark.parametrize("outcome", ["planner_fault", "infra_fault", "not_run", "cancelled", "pending"])
def test_all_other_badges_are_the_outcome(outcome):
    assert badge_of(outcome=outcome, plan_summary="") == outcome
    assert badge_of(outcome="scored", plan_summary="Colorization") == "scored"


def test_a_sentence_stands_in_the_place_of_missing_steps_only():
    assert sentence_in_place_of_steps(plan={"steps": [{"id": "s1"}]}, outcome="scored", judged=False) == ""
    assert "input was scored" in sentence_in_place_of_steps(plan=EMPTY, outcome="scored", judged=False)
    assert "counts like a missing plan" in sentence_in_place_of_steps(plan=EMPTY, outcome="scored", judged=True)
    assert "scored" not in sentence_in_place_of_steps(plan=EMPTY, outcome="planner_fault", judged=False)


@pytest.mark.parametrize("judged", [True, False])
def test_an_abstention_is_named_and_said_to_be_right_where_no_tool_can_meet_the_request(judged):
    said = sentence_in_place_of_steps(plan=EMPTY, outcome="scored", judged=judged, abstained=True)
    assert said.startswith("The planner abstained.")
    assert "right" not in said
    right = sentence_in_place_of_steps(plan=EMPTY, outcome="scored", judged=judged, abstained=True, is_right=True)
    assert "That is right" in right
    assert "That is right" in sentence_in_place_of_steps(plan=EMPTY, outcome="scored", judged=judged, is_right=True)
