"""A test call of a strategy with a chat endpoint: one request of a suite of whole plans."""

from collections.abc import Mapping, Set
from dataclasses import replace
from time import monotonic
from typing import Any, cast

import httpx

from evaluator.core.language_model import Answer, Call, Completion, Failure
from evaluator.core.planner import PlannerError, PlannerReply
from evaluator.core.records import Reason
from evaluator.core.suites.base import Suite
from evaluator.planners.driving import StrategyPlanner, UnfitModelError
from evaluator.planners.language_models.chat.apis import ApiName
from evaluator.planners.language_models.chat.model import ChatModel, ChatSettings
from evaluator.planners.strategies.registry import PlannerNameError, strategy_of
from evaluator.planners.trials import ChatTrialSettings
from evaluator.planners.trials.trial import (
    MOST_EXCHANGES,
    SENT_BYTES,
    SHOWN_BYTES,
    Exchange,
    Trial,
    Verdict,
    explained,
    read,
    says_nothing,
    trial_request,
    verdict_of_fault,
)


def _beginning(text: str, *, size: int) -> str:
    return text.encode(errors="replace")[:size].decode(errors="ignore")


class _WatchedModel(ChatModel):
    """Records the endpoint's last answer, and the first requests and answers as they were sent."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.last: Answer | Failure | None = None
        self.status: int | None = None
        """Of the last answer."""
        self.exchanges: list[Exchange] = []

    async def _post(self, content: bytes, *, credentials: Any) -> tuple[httpx.Response, bytes, str]:
        # Redacted before it is truncated, which could leave half a key.
        sent = _beginning(credentials.without(content.decode()), size=SENT_BYTES)
        exchange = Exchange(sent=sent, sent_bytes=len(content), status=None, answer="", answer_bytes=0)
        # Several calls may be under way.
        place = len(self.exchanges)
        if place < MOST_EXCHANGES:
            self.exchanges.append(exchange)
        response, body, problem = await super()._post(content, credentials=credentials)
        self.status = response.status_code
        if place < MOST_EXCHANGES:
            answer = _beginning(credentials.without(body.decode(errors="replace")), size=SHOWN_BYTES)
            self.exchanges[place] = replace(exchange, status=self.status, answer=answer, answer_bytes=len(body))
        return response, body, problem

    @property
    def adapted(self) -> tuple[str, ...]:
        """How requests were adapted to what the model accepts."""
        found = self.identity().get("parameters")
        parameters: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
        return (
            *(f"{name} was left out: the service refuses it." for name in parameters.get("left_out", ())),
            *(f"{old} was sent as {new}." for old, new in parameters.get("renamed", {}).items()),
            *(["System messages were sent as the user's."] if "system_messages" in parameters else []),
            *(["The plan's schema was left out; any JSON object was asked for."] if "response_format" in parameters
              else []),
            *(["The model reasons before it answers, so that its answers may be longer."] if parameters.get("reasons")
              else []),
            *([f"The service allows answers of at most {bound:,} tokens."]
              if (bound := parameters.get("most_tokens_of_the_service")) else []),
        )  # fmt: skip

    async def answer_one(self, call: Call) -> Answer | Failure:
        self.last = await super().answer_one(call)
        return self.last


def try_chat(*, suite: Suite, settings: ChatTrialSettings, offered: Set[str] | None = None) -> Trial:
    """Have a strategy answer one request. Each call of the model is tried once.

    Args:
        suite: supplies the request; a suite of whole plans.
        settings: strategy, model and endpoint.
        offered: names of the tools that a plan may call; None: the suite's whole catalogue.
    """
    task, context, request = trial_request(suite=suite, offered=offered)
    model = _WatchedModel(
        ChatSettings(
            url=settings.url, model=settings.model, allow_private=settings.allow_private, tries=1,
            api=cast("ApiName", settings.api), reasoning_effort=settings.reasoning_effort or None,
            most_tokens=settings.answer_tokens, streamed=settings.streamed,
            try_seconds=settings.timeout_seconds, total_seconds=settings.timeout_seconds,
        ),
        name=f"chat:{settings.model}", key=lambda: None, header=settings.header,
    )  # fmt: skip
    started = monotonic()
    end: PlannerReply | PlannerError | None = None
    problem = ""
    try:
        entry = strategy_of(name=f"{settings.strategy}:{model.name}", suite=suite)
        planner = StrategyPlanner(strategy=entry.strategy(with_model=True), model=model)
        try:
            end = planner.plan(request)
        finally:
            planner.close()
    except PlannerError as error:
        end = error
    except (PlannerNameError, UnfitModelError) as error:
        problem = f"{error}."
    text = (
        model.last.transcript() if isinstance(model.last, Completion)
        else (model.last.received or "") if isinstance(model.last, Failure) else ""
    )  # fmt: skip
    trial = Trial(
        suite=suite.slug, task=task.key, request=request, seconds=round(monotonic() - started, 3), status=model.status,
        answer=_beginning(text, size=SHOWN_BYTES), answer_bytes=len(text.encode()), exchanges=tuple(model.exchanges),
        adapted=model.adapted,
    )  # fmt: skip
    if end is None:
        return replace(trial, reason=Reason.MODEL_UNUSABLE, problem=problem)
    if isinstance(end, PlannerError):
        return replace(trial, reason=end.reason, verdict=verdict_of_fault(end.reason), problem=str(end))
    trial = replace(trial, tolerated=end.tolerated)
    if end.unreadable and isinstance(model.last, Completion) and says_nothing(model.last.transcript()):
        trial = replace(trial, reason=Reason.UNPARSABLE_PLAN)
        return explained(trial, context=context, suite=suite, verdict=Verdict.EMPTY)
    if end.unreadable:
        problem = f"The plan cannot be read: {end.unreadable}."
        return replace(trial, reason=Reason.UNPARSABLE_PLAN, verdict=Verdict.UNREADABLE, problem=problem)
    return read(trial, reply=end, context=context, suite=suite)
