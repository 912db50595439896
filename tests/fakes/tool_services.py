"""Services of language models whose model answers with calls of tools, as strict about definitions as those in use."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.chat_services import PATHS, JsonHandler, Server
from tests.fakes.serving import in_a_thread

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
Called = tuple[str, str]
"""Name and arguments as text."""


@dataclass(frozen=True)
class Written:
    """What a model writes."""

    calls: Sequence[Called] = ()
    text: str = ""


@dataclass
class ToolService:
    """What a test sees of a running service."""

    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)


@contextmanager
def serving_tools(kind: str, write: Callable[[str], Written]) -> Iterator[ToolService]:
    """Run a service.

    Args:
        kind: `chat`, `responses` or `messages`.
        write: its model, which gets the last message.
    """
    service = ToolService()
    api = _APIS[kind]
    path = PATHS.get(kind, PATHS["old-chat"])

    class Handler(JsonHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            service.requests.append(request)
            if self.path != path:
                return self.send_value(404, {"error": {"message": f"no such path {self.path}"}})
            if (problem := _problem(api.tools(request))) is not None:
                return self.send_value(400, {"error": {"type": "invalid_request_error", "message": problem}})
            written = write(request.get("messages", request.get("input"))[-1]["content"])
            return self.send_value(200, api.events(written) if request.get("stream") else api.answer(written))

    with in_a_thread(Server(("127.0.0.1", 0), Handler)) as url:
        service.url = url + ("/v1" if kind == "chat" else path)
        yield service


def _problem(tools: Sequence[tuple[object, object]]) -> str | None:
    for name, schema in tools:
        if not isinstance(name, str) or not NAME.fullmatch(name):
            return f"Invalid 'tools': {name!r} does not match the pattern '^[a-zA-Z0-9_-]+$'."
        if not isinstance(schema, Mapping) or schema.get("type") != "object":
            return f"Invalid schema for function '{name}'."
    if len({name for name, _ in tools}) < len(tools):
        return "tools: Tool names must be unique."
    return None


class _Chat:
    def tools(self, request: Mapping[str, Any]) -> list[tuple[object, object]]:
        functions = [tool["function"] for tool in request.get("tools", ())]
        return [(function["name"], function["parameters"]) for function in functions]

    def answer(self, written: Written) -> Any:
        message = {"role": "assistant", "content": written.text or None}
        if written.calls:
            message["tool_calls"] = [self._call(*call, number) for number, call in enumerate(written.calls)]
        return {"choices": [{"index": 0, "message": message, "finish_reason": self._finish(written)}]}

    def events(self, written: Written) -> list[Any]:
        deltas: list[Any] = [{"role": "assistant", "content": written.text}]
        for number, (name, arguments) in enumerate(written.calls):
            whole = self._call(name, "", number)
            deltas.append({"tool_calls": [{"index": number, **whole}]})
            deltas += [
                {"tool_calls": [{"index": number, "function": {"arguments": piece}}]} for piece in _pieces(arguments)
            ]
        chunks: list[Any] = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
        return [*chunks, {"choices": [{"index": 0, "delta": {}, "finish_reason": self._finish(written)}]}, "[DONE]"]

    def _finish(self, written: Written) -> str:
        return "tool_calls" if written.calls else "stop"

    def _call(self, name: str, arguments: str, number: int) -> dict[str, Any]:
        return {"id": f"call_{number}x9Kq", "type": "function", "function": {"name": name, "arguments": arguments}}


class _Responses:
    def tools(self, request: Mapping[str, Any]) -> list[tuple[object, object]]:
        return [(tool["name"], tool["parameters"]) for tool in request.get("tools", ())]

    def answer(self, written: Written) -> Any:
        items: list[Any] = [{"type": "reasoning", "id": "rs_1", "summary": []}]
        if written.text:
            part = {"type": "output_text", "text": written.text, "annotations": []}
            items.append({"type": "message", "id": "msg_1", "role": "assistant", "content": [part]})
        items += [
            {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}x9Kq", "name": name,
             "arguments": arguments, "status": "completed"}
            for number, (name, arguments) in enumerate(written.calls)
        ]  # fmt: skip
        return {"id": "resp_1", "object": "response", "status": "completed", "error": None, "output": items}

    def events(self, written: Written) -> list[Any]:
        value = self.answer(written)
        done = [{"type": "response.output_item.done", "item": item} for item in value["output"]]
        return [
            {"type": "response.created", "response": {**value, "status": "in_progress", "output": []}},
            *done,
            {"type": "response.completed", "response": {**value, "output": []}},
        ]


class _Messages:
    def tools(self, request: Mapping[str, Any]) -> list[tuple[object, object]]:
        return [(tool["name"], tool["input_schema"]) for tool in request.get("tools", ())]

    def answer(self, written: Written) -> Any:
        blocks: list[Any] = [{"type": "thinking", "thinking": "I plan.", "signature": "c2ln"}]
        if written.text:
            blocks.append({"type": "text", "text": written.text})
        blocks += [
            {"type": "tool_use", "id": f"toolu_01{number}", "name": name, "input": json.loads(arguments)}
            for number, (name, arguments) in enumerate(written.calls)
        ]
        return {"type": "message", "role": "assistant", "content": blocks, "stop_reason": self._reason(written)}

    def events(self, written: Written) -> list[Any]:
        events: list[Any] = [{"type": "message_start", "message": {"type": "message", "content": []}}]
        for index, block in enumerate(self.answer(written)["content"]):
            empty = {**block, **{"tool_use": {"input": {}}, "text": {"text": ""}}.get(block["type"], {})}
            events.append({"type": "content_block_start", "index": index, "content_block": empty})
            if block["type"] == "text":
                delta = {"type": "text_delta", "text": block["text"]}
                events.append({"type": "content_block_delta", "index": index, "delta": delta})
            if block["type"] == "tool_use":
                events += [
                    {"type": "content_block_delta", "index": index,
                     "delta": {"type": "input_json_delta", "partial_json": piece}}
                    for piece in _pieces(json.dumps(block["input"]))
                ]  # fmt: skip
            events.append({"type": "content_block_stop", "index": index})
        return [*events, {"type": "message_delta", "delta": {"stop_reason": self._reason(written)}}]

    def _reason(self, written: Written) -> str:
        return "tool_use" if written.calls else "end_turn"


_APIS: Mapping[str, Any] = {"chat": _Chat(), "responses": _Responses(), "messages": _Messages()}
TOOL_SERVICES = tuple(_APIS)


def _pieces(text: str) -> Iterator[str]:
    return (text[start : start + 5] for start in range(0, len(text), 5))
