"""OpenAI's Responses API."""

from collections.abc import Iterable, Mapping
from typing import Any

from evaluator.core.language_model import GenerateCall, ToolCall
from evaluator.planners.language_models.chat.apis.base import (
    CHAT_ABILITIES,
    NoAnswerError,
    Options,
    ServiceAnswer,
    WrongAnswerError,
    arguments_of,
    mappings,
    messages_of,
    read_usage,
    refuse_error,
    sampling_of,
    text_of,
    word_of,
)

_LAST = ("response.completed", "response.incomplete", "response.failed")


class Responses:
    """See `Api`. It has neither stop sequences nor a seed."""

    name = "responses"
    path = "/responses"
    root = ""
    limit = "max_output_tokens"
    abilities = CHAT_ABILITIES

    def headers(self, key: str) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {key}"} if key else {}

    def payload(self, call: GenerateCall, *, model: str, options: Options) -> dict[str, Any]:
        payload: dict[str, Any] = {
            "model": model, "input": messages_of(call), "max_output_tokens": call.max_tokens, "store": False,
        }  # fmt: skip
        sampling = sampling_of(call, options=options)
        sampling.pop("seed", None)
        payload |= sampling
        if options.reasoning_effort:
            payload["reasoning"] = {"effort": options.reasoning_effort}
        if call.schema is not None:
            payload["text"] = {
                "format": {"type": "json_schema", "name": "answer", "schema": dict(call.schema), "strict": False}
            }
        if call.tools:
            payload["tools"] = [
                {"type": "function", "name": tool.name, "description": tool.description, "strict": False,
                 "parameters": tool.parameters}
                for tool in call.tools
            ]  # fmt: skip
        if options.streamed:
            payload["stream"] = True
        return payload

    def read(self, value: Mapping[str, Any]) -> ServiceAnswer:
        refuse_error(value, wanted="output")
        output, status = value.get("output"), value.get("status")
        if status in ("failed", "cancelled"):
            raise NoAnswerError(f"has the status {status}")
        details = value.get("incomplete_details")
        why = details.get("reason") if isinstance(details, Mapping) else None
        if output is None or (output == [] and status != "incomplete"):
            raise NoAnswerError("has no output")
        if not isinstance(output, list):
            raise WrongAnswerError('has no list of "output"')
        items = mappings(output)
        messages = [item for item in items if item.get("type") == "message"]
        parts = [part for message in messages for part in mappings(message.get("content"))]
        text = "".join(text_of(message.get("content")) for message in messages)
        calls = tuple(
            ToolCall(
                id=word_of(item.get("call_id")) or word_of(item.get("id")),
                name=word_of(item.get("name")),
                arguments=arguments_of(item.get("arguments")),
            )
            for item in items
            if item.get("type") == "function_call"
        )
        usage = read_usage(value.get("usage"))
        is_refused = any(part.get("type") == "refusal" for part in parts)
        return ServiceAnswer(
            text=text,
            calls=calls,
            truncated=status == "incomplete" and why != "content_filter",
            withheld=why == "content_filter" or (is_refused and not text and not calls),
            is_reasoned=any(item.get("type") == "reasoning" for item in items)
            or bool(usage and usage.reasoning_tokens),
            usage=usage,
        )

    def assembled(self, events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        done: list[Any] = []
        for event in events:
            kind, response = event.get("type"), event.get("response")
            if kind == "error":
                refuse_error(event, wanted="part of an answer")
                raise NoAnswerError(f"is an error: {word_of(event.get('message'))[:200]}", error=dict(event))
            if kind == "response.output_item.done":
                done.append(event.get("item"))
            if kind in _LAST and isinstance(response, Mapping):
                # Some services leave the output out of the last event.
                return {**response, "output": response.get("output") or done}
            if kind is None:
                refuse_error(event, wanted="part of an answer")
        raise NoAnswerError("is a stream that breaks off")
