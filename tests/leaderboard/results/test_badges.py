"""How outcomes are shown where the plan is empty."""

import pytest

from leaderboard.results.badges import badge_of


def test_a_scored_task_without_steps_has_a_badge_of_its_own():
    assert badge_of(outcome="scored", plan_summary="") == "empty_plan"


@pytest.mark.parametrize("outcome", ["planner_fault", "infra_fault", "not_run", "cancelled", "pending"])
def test_all_other_badges_are_the_outcome(outcome):
    assert badge_of(outcome=outcome, plan_summary="") == outcome
    assert badge_of(outcome="scored", plan_summary="Colorization") == "scored"
