"""OpenAI's Chat Completions, which most services and servers offer."""

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

_AT_LIMIT = ("length", "max_tokens", "MAX_TOKENS", "model_length")
"""OpenAI's reason for an answer at the limit, and those that gateways pass on from Anthropic, Gemini and Mistral."""
_REASONING = ("reasoning_content", "reasoning", "reasoning_details", "thinking")


class ChatCompletions:
    """See `Api`."""

    name = "chat"
    path = "/chat/completions"
    root = ""
    limit = "max_tokens"
    abilities = CHAT_ABILITIES

    def headers(self, key: str) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {key}"} if key else {}

    def payload(self, call: GenerateCall, *, model: str, options: Options) -> dict[str, Any]:
        payload: dict[str, Any] = {"model": model, "messages": messages_of(call), "max_tokens": call.max_tokens}
        payload |= sampling_of(call, options=options)
        if call.stop:
            payload["stop"] = list(call.stop)
        if options.reasoning_effort:
            payload["reasoning_effort"] = options.reasoning_effort
        if options.reasoning_budget:
            payload["thinking_budget"] = options.reasoning_budget
        if call.schema is not None:
            schema = {"name": "answer", "schema": dict(call.schema)}
            payload["response_format"] = {"type": "json_schema", "json_schema": schema}
        if call.tools:
            payload["tools"] = [
                {
                    "type": "function",
                    "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
                }
                for tool in call.tools
            ]
        if options.streamed:
            payload |= {"stream": True, "stream_options": {"include_usage": True}}
        return payload

    def read(self, value: Mapping[str, Any]) -> ServiceAnswer:
        choices = value.get("choices")
        if not choices:
            refuse_error(value, wanted="choice")
            raise NoAnswerError("has no choices")
        if not isinstance(choices, list) or not isinstance(choices[0], Mapping):
            raise WrongAnswerError('has no list of "choices"')
        choice = choices[0]
        refuse_error(choice, wanted="choice")
        message, finish = choice.get("message"), choice.get("finish_reason")
        if finish == "error":
            raise NoAnswerError("ended with an error of the service")
        if message is None and "message" in choice:
            raise NoAnswerError("has no message in its first choice")
        if not isinstance(message, Mapping):
            raise WrongAnswerError('has no "message" in its first choice')
        usage = read_usage(value.get("usage"))
        calls = tuple(_call(item) for item in mappings(message.get("tool_calls")))
        if not calls and isinstance(message.get("function_call"), Mapping):
            calls = (_call({"function": message["function_call"]}),)
        text = text_of(message.get("content"))
        return ServiceAnswer(
            text=text,
            calls=calls,
            truncated=finish in _AT_LIMIT,
            withheld=finish == "content_filter" or (not text and not calls and bool(message.get("refusal"))),
            is_reasoned=any(message.get(name) for name in _REASONING) or bool(usage and usage.reasoning_tokens),
            usage=usage,
        )

    def assembled(self, events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        text: list[str] = []
        message: dict[str, Any] = {"role": "assistant"}
        calls: dict[object, dict[str, Any]] = {}
        finish: object = None
        usage: object = None
        for event in events:
            refuse_error(event, wanted="part of an answer")
            usage = event.get("usage") or usage
            for choice in mappings(event.get("choices"))[:1]:
                refuse_error(choice, wanted="part of an answer")
                finish = choice.get("finish_reason") or finish
                delta = choice.get("delta") or choice.get("message")
                if not isinstance(delta, Mapping):
                    continue
                text.append(text_of(delta.get("content")))
                message |= {name: True for name in (*_REASONING, "refusal") if delta.get(name)}
                _add_calls(calls, delta)
        if finish is None:
            raise NoAnswerError("is a stream that breaks off")
        message |= {"content": "".join(text), "tool_calls": list(calls.values())}
        return {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}


def _call(item: Mapping[str, Any]) -> ToolCall:
    function = item.get("function")
    function = function if isinstance(function, Mapping) else item
    return ToolCall(
        id=word_of(item.get("id")),
        name=word_of(function.get("name")),
        arguments=arguments_of(function.get("arguments")),
    )


def _add_calls(calls: dict[object, dict[str, Any]], delta: Mapping[str, Any]) -> None:
    items = mappings(delta.get("tool_calls"))
    if isinstance(delta.get("function_call"), Mapping):
        items = [*items, {"function": delta["function_call"]}]
    for position, item in enumerate(items):
        index, identifier = item.get("index"), word_of(item.get("id"))
        # Some services number no calls: then each identifier is one, and a part without identifier continues the last.
        key = index if isinstance(index, int) else identifier or next(reversed(calls), position)
        call = calls.setdefault(key, {"id": "", "function": {"name": "", "arguments": ""}})
        call["id"] = call["id"] or identifier
        part = item.get("function")
        if isinstance(part, Mapping):
            call["function"]["name"] = call["function"]["name"] or word_of(part.get("name"))
            call["function"]["arguments"] += arguments_of(part.get("arguments") or "")
