"""Planners behind HTTP that speak planner/1."""

from leaderboard.planners.kinds.called import CalledKind
from leaderboard.planners.models import PlannerKind


class EndpointKind(CalledKind):
    """What it understands nobody knows, so that it may be entered for every suite."""

    kind = PlannerKind.ENDPOINT
    noun = "An HTTP endpoint"
    choice = "An HTTP endpoint that speaks planner/1"
    fields = {"endpoint_url": "address"}
    testable = True
    example = "https://example.org/plan"
