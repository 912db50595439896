"""How a task's outcome is shown where "Scored" alone would read as a success."""

from collections.abc import Mapping
from typing import Any

from evaluator.core.records import Outcome

OUTCOMES = {
    "scored": "Scored",
    "empty_plan": "Empty plan",
    "planner_fault": "Planner fault",
    "infra_fault": "Infrastructure fault",
    "not_run": "Not run",
    "cancelled": "Cancelled",
    "pending": "Waiting",
}
"""Badges in words, in the order in which they are always shown."""
EMPTY_PLAN = "empty_plan"
"""A badge, not an outcome: the plan of a scored task has no steps. Counts and filters use "scored"."""


def badge_of(*, outcome: str, plan_summary: str) -> str:
    """The badge of a task: its outcome, or `EMPTY_PLAN`.

    Args:
        outcome: of the result, or `pending`.
        plan_summary: the plan's tools; empty if it has no steps.
    """
    return EMPTY_PLAN if outcome == Outcome.SCORED and not plan_summary else outcome


def sentence_in_place_of_steps(
    *, plan: Mapping[str, Any], outcome: str, judged: bool, abstained: bool = False, is_right: bool = False
) -> str:
    """The sentence in place of the drawing of a plan without steps; empty if it has some.

    Args:
        plan: as it was read, `plan/1`.
        outcome: of the task.
        judged: whether the suite judges plans and executes none.
        abstained: whether the planner said that no plan can meet the request.
        is_right: whether no plan can, so that a plan without steps is right.
    """
    if plan.get("steps"):
        return ""
    said = "The planner answered with a plan that has no steps."
    if not plan.get("answers"):
        said = "The planner abstained." if abstained else "The planner abstained: its plan has no steps and no answers."
    if outcome != Outcome.SCORED:
        return said
    if is_right:
        return f"{said} That is right: no tool can meet this request."
    if judged and abstained:
        return f"{said} The request can be met, so that it counts like a missing plan."
    if judged:
        return f"{said} It counts like a missing plan: every indicator has its worst value."
    return f"{said} No tool ran: the request's own input was scored as the answer."
