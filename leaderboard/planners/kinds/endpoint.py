"""Planners behind HTTP that speak planner/1."""

from collections.abc import Sequence

from gpu_jobs.contract.lease import EndpointPlanner
from leaderboard.planners.call_fields import CALL
from leaderboard.planners.declared import DECLARED
from leaderboard.planners.kinds.called import CalledKind
from leaderboard.planners.models import Planner, PlannerKind


class EndpointKind(CalledKind):
    """May be submitted to every suite, since the site cannot know which suites it supports."""

    kind = PlannerKind.ENDPOINT
    noun = "An HTTP endpoint"
    choice = "An HTTP endpoint that speaks planner/1"
    card = "Your server gets one JSON POST per task, or per turn. You can test it here first."
    fields = (*CALL, *DECLARED)
    testable = True
    example = "https://example.org/plan"

    def lease(self, *, planner: Planner, tasks: Sequence[str]) -> EndpointPlanner:  # noqa: ARG002 - as the base class
        return EndpointPlanner(**self.how_to_call(planner))
