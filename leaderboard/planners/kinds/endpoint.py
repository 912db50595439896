"""Planners behind HTTP that speak planner/1."""

from collections.abc import Sequence

from django import forms
from django.conf import settings

from evaluator.network.secret_header import SecretHeader
from evaluator.planners.endpoint import EndpointSettings
from gpu_jobs.contract import EndpointPlanner
from leaderboard.planners.call_fields import CALL, ENDPOINT_URL
from leaderboard.planners.data import TIMEOUT, PlannerData
from leaderboard.planners.declared import DECLARED
from leaderboard.planners.kinds.called import CalledKind
from leaderboard.planners.models import Planner, PlannerKind


class EndpointKind(CalledKind):
    """May be submitted to every suite, since the site cannot know which suites it supports."""

    kind = PlannerKind.ENDPOINT
    noun = "An HTTP endpoint"
    choice = "An HTTP endpoint that speaks planner/1"
    card = "For a planner on your own server, which gets one JSON POST per task, or per turn."
    guide = "an-endpoint"
    fields = (*CALL, *DECLARED)
    example = "https://example.org/plan"

    def fit_form(self, fields: dict[str, forms.Field]) -> None:
        fields[ENDPOINT_URL.name].help_text = "Receives planner/1 requests. Only you see this address."
        fields[TIMEOUT.name].help_text = "For one response, 1 to 300. A late response is a planner fault."

    def trial_settings(
        self, *, data: PlannerData, timeout_seconds: float, header: SecretHeader | None
    ) -> EndpointSettings:
        return EndpointSettings(
            url=data[ENDPOINT_URL], timeout_seconds=timeout_seconds, allow_private=settings.DEMO, header=header
        )

    def lease(self, *, planner: Planner, tasks: Sequence[str]) -> EndpointPlanner:  # noqa: ARG002 - as the base class
        return EndpointPlanner(**self.how_to_call(planner))
