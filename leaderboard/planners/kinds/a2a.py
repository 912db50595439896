"""Agents that speak the Agent2Agent protocol (A2A). Workers read their card and send a message for each turn."""

from collections.abc import Sequence

from django import forms
from django.conf import settings

from evaluator.network.secret_header import SecretHeader
from evaluator.planners.endpoint import EndpointSettings
from gpu_jobs.contract import A2APlanner
from leaderboard.planners.data import CALL, DECLARED, ENDPOINT_URL, TIMEOUT, PlannerData
from leaderboard.planners.kinds.called import CalledKind
from leaderboard.planners.models import Planner, PlannerKind


class A2AKind(CalledKind):
    """May be submitted to every suite, as an endpoint."""

    kind = PlannerKind.A2A
    noun = "An A2A agent"
    choice = "An agent that speaks Agent2Agent (A2A)"
    card = "For an agent with an agent card, which gets one message per task, or per turn."
    guide = "an-a2a-agent"
    fields = (*CALL, *DECLARED)
    example = "https://example.org"

    def fit_form(self, fields: dict[str, forms.Field]) -> None:
        fields[ENDPOINT_URL.name].help_text = "Of the agent, or of its card. Only you see this address."
        fields[TIMEOUT.name].help_text = "For one answer, 1 to 300. A late answer is a planner fault."

    def trial_settings(
        self, *, data: PlannerData, timeout_seconds: float, header: SecretHeader | None
    ) -> EndpointSettings:
        return EndpointSettings(
            url=data[ENDPOINT_URL], timeout_seconds=timeout_seconds, allow_private=settings.DEMO, header=header,
            protocol="a2a",
        )  # fmt: skip

    def lease(self, *, planner: Planner, tasks: Sequence[str]) -> A2APlanner:  # noqa: ARG002 - as the base class
        return A2APlanner(**self.how_to_call(planner))
