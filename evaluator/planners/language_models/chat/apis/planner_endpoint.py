"""Calls of a role at a `planner/1` endpoint: messages in, a text out."""

from collections.abc import Iterable, Mapping
from typing import Any

from evaluator.core.language_model import Ability, GenerateCall
from evaluator.planners.language_models.chat.apis.base import (
    NoAnswerError,
    Options,
    ServiceAnswer,
    WrongAnswerError,
    messages_of,
    read_usage,
    refuse_error,
    sampling_of,
)


class PlannerEndpoint:
    """See `Api`. The address is that of the endpoint, and needs no name of a model."""

    name = "planner/1"
    path = ""
    root = ""
    limit = "max_tokens"
    abilities = frozenset({Ability.GENERATE})

    def headers(self, key: str) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {key}"} if key else {}

    def payload(self, call: GenerateCall, *, model: str, options: Options) -> dict[str, Any]:
        del model
        payload: dict[str, Any] = {
            "version": self.name, "role": call.role, "messages": messages_of(call), "max_tokens": call.max_tokens,
            **sampling_of(call, options=options),
        }  # fmt: skip
        if call.stop:
            payload["stop"] = list(call.stop)
        if call.schema is not None:
            payload["schema"] = dict(call.schema)
        return payload

    def read(self, value: Mapping[str, Any]) -> ServiceAnswer:
        text = value.get("text")
        if text is None:
            refuse_error(value, wanted="text")
            if "plan" in value:
                raise WrongAnswerError(
                    'is a plan; a call of a role, which has "messages" and no "task", wants a "text"'
                )
            raise NoAnswerError('has no "text"')
        if not isinstance(text, str):
            raise WrongAnswerError('has a "text" that is not a string')
        return ServiceAnswer(text=text, truncated=value.get("truncated") is True, usage=read_usage(value.get("usage")))

    def assembled(self, events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        del events
        raise NoAnswerError("is a stream of events, which no call of planner/1 requests")
