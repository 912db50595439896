"""A strategy with a language model behind a chat API. The strategy runs on the worker, which calls the API."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, get_args
from urllib.parse import urlsplit

from django import forms
from django.conf import settings

from evaluator.network.secret_header import SecretHeader
from evaluator.planners.strategies.registry import StrategyEntry
from evaluator.planners.trials import ChatTrialSettings
from gpu_jobs.contract import ChatApi, ChatModel, ChatPlanner
from leaderboard.people.models import User
from leaderboard.planners.data import CALL, DECLARED, ENDPOINT_URL, MODEL_NAME, TIMEOUT, Errors, PlannerData
from leaderboard.planners.kinds.base import Facts
from leaderboard.planners.kinds.called import CalledKind
from leaderboard.planners.kinds.language_models import (
    MODEL_ID,
    OPTIONS,
    ROLES,
    STRATEGY,
    chat_strategies,
    check_chat_strategy,
    check_understanding,
    offer,
)
from leaderboard.planners.models import Planner, PlannerKind
from leaderboard.platform.fields import Choice, Field, Tick, Whole

SETTINGS_TEMPLATE = "submissions/kinds/chat_settings.html"
_API_LABELS = {
    "auto": "By the address, usually Chat Completions",
    "chat": "OpenAI Chat Completions",
    "responses": "OpenAI Responses",
    "messages": "Anthropic Messages",
}
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_API_VERSION = re.compile(r"api-version=[\w.-]{1,40}")

API = Choice(
    "api",
    label="API",
    noun="API",
    help="`auto`: `responses` or `messages` if the address ends with /responses or /messages, else `chat`.",
    page_help="By the address: Responses or Messages if it ends with /responses or /messages, else Chat Completions.",
    default="auto",
    example="auto",
    choices=[(name, _API_LABELS[name]) for name in get_args(ChatApi)],
    template=SETTINGS_TEMPLATE,
)
REASONING_EFFORT = Choice(
    "reasoning_effort",
    label="Reasoning effort",
    noun="reasoning effort",
    help=f"Sent with every call: {', '.join(_EFFORTS)}, as far as the model knows them. Empty: the service's default.",
    page_help="Sent with every call. Not every model knows each of them.",
    example="medium",
    choices=[("", "The service's default"), *((name, name) for name in _EFFORTS)],
    template=SETTINGS_TEMPLATE,
)
ANSWER_TOKENS = Whole(
    "answer_tokens",
    label="Limit of an answer in tokens",
    noun="limit of answers",
    help="Including reasoning. Empty: the strategy's limit; for models that reason, at least 16,384.",
    example=32768,
    least=16,
    most=1_000_000,
    unit="tokens",
    template=SETTINGS_TEMPLATE,
)
STREAMED = Tick(
    "streamed",
    label="Stream answers",
    noun="streaming",
    help="For services that close connections on which nothing is sent for a while.",
    example=False,
    template=SETTINGS_TEMPLATE,
)
SETTINGS: tuple[Field[Any], ...] = (API, REASONING_EFFORT, ANSWER_TOKENS, STREAMED)
"""How the API is called."""


class ChatKind(CalledKind):
    """Only strategies that ask for texts or calls of tools: chat endpoints return no probabilities."""

    kind = PlannerKind.CHAT
    role_message = ChatModel
    noun = "A chat endpoint"
    choice = "A chat endpoint (OpenAI-compatible or Anthropic) with a strategy"
    card = "For a language model that you serve or rent: a worker runs the strategy you choose, which calls it."
    guide = "a-chat-endpoint"
    fields = (*CALL, MODEL_ID, STRATEGY, OPTIONS, ROLES, *SETTINGS, *DECLARED)
    example = "https://example.org/v1"

    def strategies(self) -> Mapping[str, StrategyEntry]:
        return chat_strategies()

    def fit_form(self, fields: dict[str, forms.Field]) -> None:
        address, model = fields[ENDPOINT_URL.name], fields[MODEL_ID.name]
        address.help_text = f"The base URL of the API, such as {self.example}. Only you see this address."
        address.widget.attrs["placeholder"] = self.example
        model.help_text = "As in requests. Shown with the planner."
        model.widget.attrs["placeholder"] = "my-model"
        fields[TIMEOUT.name].help_text = "For one try of one call, 1 to 300. Calls are retried."
        offer(self.strategies(), fields=fields)

    def check(self, data: PlannerData) -> Errors:
        errors = {**super().check(data), **check_chat_strategy(data[STRATEGY])}
        if not data[MODEL_ID]:
            errors[MODEL_ID.name] = ["Give the name of the model, as used in requests to your endpoint."]
        for field in (API, REASONING_EFFORT):
            if data[field] not in (known := [value for value, _ in field.choices]):
                errors[field.name] = [f"Choose one of {', '.join(filter(None, known))}."]
        return errors

    def problem_of_address(self, url: str) -> str:
        """Also refuses a fragment and queries other than Azure's `api-version`, since paths of calls are appended."""
        problem = super().problem_of_address(url)
        if problem:
            return problem
        parts = urlsplit(url)
        if parts.fragment or (parts.query and not _API_VERSION.fullmatch(parts.query)):
            return f"Give the base of the API, such as {self.example}. After it, only '?api-version=...' is possible."
        return ""

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
            api=data[API], reasoning_effort=data[REASONING_EFFORT], answer_tokens=data[ANSWER_TOKENS],
            streamed=data[STREAMED], allow_private=settings.DEMO, header=header,
        )  # fmt: skip

    def lease(self, *, planner: Planner, tasks: Sequence[str]) -> ChatPlanner:  # noqa: ARG002 - as the base class
        return ChatPlanner(
            **self.how_to_call(planner), model=planner.model_id, strategy=planner.strategy,
            **{field.name: getattr(planner, field.name) for field in SETTINGS},
        )  # fmt: skip
