"""Agents that speak the Model Context Protocol: they call this site, so that nothing calls them."""

from collections.abc import Sequence

from gpu_jobs.contract.lease import AgentPlanner
from leaderboard.catalog.models import Suite
from leaderboard.planners.data import Errors, PlannerData
from leaderboard.planners.declared import DECLARED
from leaderboard.planners.kinds.base import Kind
from leaderboard.planners.models import Planner, PlannerKind


class AgentKind(Kind):
    """Takes tasks of suites in turns at `/mcp/` with its owner's token, and calls the suite's tools there."""

    kind = PlannerKind.AGENT
    noun = "An agent"
    choice = "An agent that speaks the Model Context Protocol"
    card = "Your agent takes tasks and calls tools at /mcp/ with your token. For suites in turns."
    fields = DECLARED
    is_agent = True
    answer_seconds = 3600
    note = "agent-driven: its agent called the tools over the Model Context Protocol"

    def check(self, data: PlannerData) -> Errors:  # noqa: ARG002 - as the base class
        return {}

    def check_suites(self, *, data: PlannerData, suites: Sequence[str]) -> Errors:  # noqa: ARG002 - as the base class
        found = Suite.objects.filter(slug__in=suites, current=True)
        if whole := [suite.title for suite in found if not suite.in_turns]:
            return {"suites": [f"{whole[0]} asks for whole plans; an agent needs suites in turns."]}
        return {}

    def lease(self, *, planner: Planner, tasks: Sequence[str]) -> AgentPlanner:  # noqa: ARG002 - as the base class
        return AgentPlanner()
