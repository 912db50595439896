"""Anthropic's Messages API."""

import json
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
    word_of,
)

VERSION = "2023-06-01"
_THOUGHTS = ("thinking", "redacted_thinking")
_AT_LIMIT = ("max_tokens", "model_context_window_exceeded")


class Messages:
    """See `Api`. It has no seed. With a budget of reasoning, temperature and top_p cannot be set."""

    name = "messages"
    path = "/messages"
    root = "/v1"
    limit = "max_tokens"
    abilities = CHAT_ABILITIES

    def headers(self, key: str) -> Mapping[str, str]:
        return {"anthropic-version": VERSION, **({"x-api-key": key} if key else {})}

    def payload(self, call: GenerateCall, *, model: str, options: Options) -> dict[str, Any]:
        messages = messages_of(call)
        system = "\n\n".join(message["content"] for message in messages if message["role"] == "system")
        turns = [message for message in messages if message["role"] != "system"]
        payload: dict[str, Any] = {"model": model, "max_tokens": call.max_tokens}
        payload["messages"] = turns or [{"role": "user", "content": system}]
        if system and turns:
            payload["system"] = system
        if options.reasoning_budget:
            payload["thinking"] = {"type": "enabled", "budget_tokens": options.reasoning_budget}
        else:
            payload["temperature"] = min(call.temperature, 1.0)
            if call.temperature > 0 and call.top_p < 1:
                payload["top_p"] = call.top_p
        # Sequences of white space are refused; the text is cut at them where it arrives.
        if stop := [text for text in call.stop if text.strip()]:
            payload["stop_sequences"] = stop
        output: dict[str, Any] = {}
        if options.reasoning_effort:
            output["effort"] = options.reasoning_effort
        if call.schema is not None:
            output["format"] = {"type": "json_schema", "schema": dict(call.schema)}
        if output:
            payload["output_config"] = output
        if call.tools:
            payload["tools"] = [
                {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
                for tool in call.tools
            ]
        if options.streamed:
            payload["stream"] = True
        return payload

    def read(self, value: Mapping[str, Any]) -> ServiceAnswer:
        refuse_error(value, wanted="content")
        content, reason = value.get("content"), value.get("stop_reason")
        if content is None or (content == [] and reason is None):
            raise NoAnswerError("has no content")
        if isinstance(content, str):  # compatible services
            content = [{"type": "text", "text": content}]
        if not isinstance(content, list):
            raise WrongAnswerError('has no list of "content"')
        blocks = mappings(content)
        texts = [block.get("text") for block in blocks if block.get("type") == "text"]
        if not all(isinstance(text, str) for text in texts):
            raise WrongAnswerError("has a block of text without a text")
        calls = tuple(
            ToolCall(
                id=word_of(block.get("id")),
                name=word_of(block.get("name")),
                arguments=arguments_of(block.get("input")),
            )
            for block in blocks
            if block.get("type") == "tool_use"
        )
        usage = read_usage(value.get("usage"))
        return ServiceAnswer(
            text="".join(map(str, texts)),
            calls=calls,
            truncated=reason in _AT_LIMIT,
            withheld=reason == "refusal",
            is_reasoned=any(block.get("type") in _THOUGHTS for block in blocks)
            or bool(usage and usage.reasoning_tokens),
            usage=usage,
        )

    def assembled(self, events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        blocks: dict[object, dict[str, Any]] = {}
        usage: dict[str, Any] = {}
        reason: object = None
        for event in events:
            refuse_error(event, wanted="part of an answer")
            kind, delta, place = event.get("type"), event.get("delta"), event.get("index")
            if kind == "message_start" and isinstance(message := event.get("message"), Mapping):
                usage |= _reported(message.get("usage"))
            elif kind == "content_block_start" and isinstance(block := event.get("content_block"), Mapping):
                blocks[place] = {**block, "text": word_of(block.get("text")), "written": ""}
            elif kind == "content_block_delta" and isinstance(delta, Mapping) and place in blocks:
                blocks[place]["text"] += word_of(delta.get("text"))
                blocks[place]["written"] += word_of(delta.get("partial_json"))
            elif kind == "message_delta" and isinstance(delta, Mapping):
                reason = delta.get("stop_reason") or reason
                usage |= _reported(event.get("usage"))
        if reason is None:
            raise NoAnswerError("is a stream that breaks off")
        for block in blocks.values():
            if written := block.pop("written"):
                block["input"] = _json(written)
        return {"content": list(blocks.values()), "stop_reason": reason, "usage": usage}


def _reported(usage: object) -> dict[str, Any]:
    return {name: count for name, count in usage.items() if count is not None} if isinstance(usage, Mapping) else {}


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
