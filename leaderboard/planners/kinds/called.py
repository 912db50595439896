"""Base of the kinds that workers call at an address of the owner, and endpoints that speak planner/1."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from django import forms
from django.conf import settings

from evaluator.network.secret_header import SecretHeader
from evaluator.planners.endpoint import EndpointSettings
from evaluator.planners.trials.process import TrialSettings
from gpu_jobs.contract import EndpointPlanner
from leaderboard.catalog.library import problem_of_address
from leaderboard.people.models import User
from leaderboard.planners import secret_headers
from leaderboard.planners.data import CALL, DECLARED, ENDPOINT_URL, TIMEOUT, Errors, PlannerData
from leaderboard.planners.kinds.base import Kind
from leaderboard.planners.models import Planner, PlannerKind


class CalledKind(Kind):
    """Workers call the address, with a secret header if the planner has one."""

    testable = True
    needs_network = True
    has_secret = True
    may_declare_determinism = True
    example: ClassVar[str]
    """An example of an address, for error messages."""

    def check(self, data: PlannerData) -> Errors:
        problem = self.problem_of_address(data[ENDPOINT_URL])
        return {**({ENDPOINT_URL.name: [problem]} if problem else {}), **secret_headers.check(data)}

    def problem_of_address(self, url: str) -> str:
        """Why an address is refused without resolving its name, as a sentence; empty: it is accepted."""
        if not url:
            return f"Give the address of your endpoint, such as {self.example}."
        if problem := ENDPOINT_URL.problem(url):
            return problem
        if " " in url:
            return "The address contains spaces."
        return problem_of_address(url=url, owner=None)

    @abstractmethod
    def trial_settings(
        self, *, data: PlannerData, timeout_seconds: float, header: SecretHeader | None
    ) -> TrialSettings:
        """Settings of a test call before submission."""

    def check_owned(
        self,
        *,
        data: PlannerData,
        suites: Sequence[str],  # noqa: ARG002 - as the base class
        owner: User,
        planner: Planner | None,
    ) -> Errors:
        if problem := problem_of_address(url=data[ENDPOINT_URL], owner=owner):
            return {ENDPOINT_URL.name: [problem]}
        return dict(secret_headers.check_kept(planner=planner, data=data))

    def entered(self, *, planner: Planner, data: PlannerData) -> None:
        secret_headers.keep(planner=planner, data=data)

    def how_to_call(self, planner: Planner) -> dict[str, Any]:
        """The fields of the lease that all called planners share.

        They contain no secret header, only whether there is one: workers fetch it by a call of the attempt.

        Raises:
            HeaderUnreadableError: the secret header cannot be decrypted.
        """
        return {
            "has_header": secret_headers.header_of(planner) is not None,
            "url": planner.endpoint_url,
            "timeout_seconds": planner.timeout_seconds,
            "allow_private": settings.DEMO,
        }


class EndpointKind(CalledKind):
    """May be submitted to every suite, since the site cannot know which suites it supports."""

    kind = PlannerKind.ENDPOINT
    role_message = EndpointPlanner
    is_new_in_roles = True
    role_noun = "A planner/1 endpoint"
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
