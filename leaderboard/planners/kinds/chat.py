"""A strategy with a language model behind OpenAI's chat API. The strategy runs on the worker, which calls the API."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from django import forms
from django.conf import settings

from evaluator.network.secret_header import SecretHeader
from evaluator.planners.trials import ChatTrialSettings
from gpu_jobs.contract import ChatPlanner
from leaderboard.people.models import User
from leaderboard.planners.data import CALL, DECLARED, ENDPOINT_URL, MODEL_NAME, TIMEOUT, Errors, PlannerData
from leaderboard.planners.kinds.base import Facts
from leaderboard.planners.kinds.called import CalledKind
from leaderboard.planners.kinds.language_models import (
    MODEL_ID,
    STRATEGY,
    chat_strategies,
    check_chat_strategy,
    check_understanding,
    offer,
)
from leaderboard.planners.models import Planner, PlannerKind


class ChatKind(CalledKind):
    """Only strategies that ask for texts or calls of tools: chat endpoints return no probabilities."""

    kind = PlannerKind.CHAT
    noun = "A chat endpoint"
    choice = "A chat endpoint (OpenAI-compatible) with a strategy"
    card = "For a language model that you serve or rent: a worker runs the strategy you choose, which calls it."
    guide = "a-chat-endpoint"
    fields = (*CALL, MODEL_ID, STRATEGY, *DECLARED)
    example = "https://example.org/v1"

    def fit_form(self, fields: dict[str, forms.Field]) -> None:
        address, model = fields[ENDPOINT_URL.name], fields[MODEL_ID.name]
        address.help_text = f"The base URL of the API, such as {self.example}. Only you see this address."
        address.widget.attrs["placeholder"] = self.example
        model.help_text = "As in requests. Shown with the planner."
        model.widget.attrs["placeholder"] = "my-model"
        fields[TIMEOUT.name].help_text = "For one try of one call, 1 to 300. Calls are retried."
        offer(chat_strategies(), fields=fields)

    def check(self, data: PlannerData) -> Errors:
        errors = {**super().check(data), **check_chat_strategy(data[STRATEGY])}
        if not data[MODEL_ID]:
            errors[MODEL_ID.name] = ["Give the name of the model, as used in requests to your endpoint."]
        return errors

    def problem_of_address(self, url: str) -> str:
        """Also refuses a query and a fragment, since the path of each call is appended."""
        problem = super().problem_of_address(url)
        if not problem and (urlsplit(url).query or urlsplit(url).fragment):
            return f"Give the base of the API alone, without '?' and '#', such as {self.example}."
        return problem

    def check_suites(self, *, data: PlannerData, suites: Sequence[str]) -> Errors:
        return check_understanding(strategy=data[STRATEGY], suites=suites)

    def find_facts(self, *, data: PlannerData, owner: User) -> Facts:  # noqa: ARG002 - asks no service
        """The name of the model, unless its owner declares another for boards."""
        return Facts(model_name=MODEL_NAME.clean(data[MODEL_NAME]) or data[MODEL_ID])

    def trial_settings(
        self, *, data: PlannerData, timeout_seconds: float, header: SecretHeader | None
    ) -> ChatTrialSettings:
        return ChatTrialSettings(
            url=data[ENDPOINT_URL], model=data[MODEL_ID], strategy=data[STRATEGY], timeout_seconds=timeout_seconds,
            allow_private=settings.DEMO, header=header,
        )  # fmt: skip

    def lease(self, *, planner: Planner, tasks: Sequence[str]) -> ChatPlanner:  # noqa: ARG002 - as the base class
        return ChatPlanner(**self.how_to_call(planner), model=planner.model_id, strategy=planner.strategy)
