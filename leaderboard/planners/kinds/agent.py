"""Agents that speak the Model Context Protocol. They call this site; nothing calls them."""

from collections.abc import Sequence

from django import forms

from gpu_jobs.contract import AgentPlanner
from leaderboard.catalog.models import Suite
from leaderboard.planners.data import DECLARED, Errors, PlannerData, without_prices
from leaderboard.planners.kinds.base import Kind
from leaderboard.planners.models import Planner, PlannerKind


class AgentKind(Kind):
    """Takes tasks of suites in turns at `/mcp/` with its owner's token, and calls the suite's tools there."""

    kind = PlannerKind.AGENT
    noun = "An agent"
    choice = "An agent that speaks the Model Context Protocol"
    card = "For an agent that takes tasks and calls tools itself, at /mcp/ with your token, on suites in turns."
    guide = "an-agent"
    fields = DECLARED
    is_agent = True
    may_declare_determinism = True
    answer_seconds = 3600
    note = "agent-driven: its agent called the tools over the Model Context Protocol"

    def check(self, data: PlannerData) -> Errors:  # noqa: ARG002 - as the base class
        return {}

    def fit_form(self, fields: dict[str, forms.Field]) -> None:
        without_prices(fields)

    def refusal(self, suite: Suite) -> str:
        return "" if suite.in_turns else f"{suite.title} asks for whole plans; an agent needs suites in turns."

    def check_suites(self, *, data: PlannerData, suites: Sequence[str]) -> Errors:  # noqa: ARG002 - as the base class
        found = Suite.objects.filter(slug__in=suites, current=True)
        refused = [text for suite in found if (text := self.refusal(suite))]
        return {"suites": refused[:1]} if refused else {}

    def lease(self, *, planner: Planner, tasks: Sequence[str]) -> AgentPlanner:  # noqa: ARG002 - as the base class
        return AgentPlanner()
