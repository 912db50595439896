"""How a task's outcome is shown where "Scored" alone would read as a success."""

from collections.abc import Mapping
from typing import Any

from evaluator.records import Outcome

EMPTY_PLAN = "empty_plan"
"""A badge and no outcome: the task is scored, with a plan that has no steps. Counts and filters know "scored" only."""


def badge_of(*, outcome: str, plan_summary: str) -> str:
    """The badge of a task: its outcome, or `EMPTY_PLAN`.

    Args:
        outcome: of the result, or `pending`.
        plan_summary: the plan's tools; empty if it has no steps.
    """
    return EMPTY_PLAN if outcome == Outcome.SCORED and not plan_summary else outcome


def sentence_in_place_of_steps(*, plan: Mapping[str, Any], outcome: str, judged: bool) -> str:
    """What stands where the steps of a plan would be drawn; empty if it has some.

    Args:
        plan: as it was read, `plan/1`.
        outcome: of the task.
        judged: whether the suite judges plans and executes none.
    """
    if plan.get("steps"):
        return ""
    said = "The planner answered with a plan that has no steps."
    if outcome != Outcome.SCORED:
        return said
    if judged:
        return f"{said} It was judged like any other plan and meets no part of the request."
    return f"{said} No tool ran: the request's own input was scored as the answer."
