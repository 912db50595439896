"""Services of language models, as strict about requests and as odd in answers as those in use."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.fakes.serving import in_a_thread

Answerer = Callable[[str], str]
"""The text that a model writes after a prompt."""
Reply = tuple[int, Any]
"""Status, and a JSON value or the list of events of a stream."""


@dataclass
class Service:
    """What a test sees of a running service."""

    url: str
    model: str = "m-1"
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)


class Wrong(Exception):
    """A request that the service refuses."""

    def __init__(self, status: int, error: Any) -> None:
        super().__init__(error)
        self.reply = status, error


def old_chat(request: dict[str, Any], write: Answerer) -> Reply:
    """Chat Completions of 2023: knows `max_tokens`, refuses fields that came later, reports two counts of tokens."""
    known = {"model", "messages", "max_tokens", "temperature", "top_p", "stop", "seed", "stream"}
    if unknown := sorted(set(request) - known):
        detail = [{"loc": ["body", name], "msg": "Extra inputs are not permitted", "type": "extra_forbidden"}
                  for name in unknown]  # fmt: skip
        raise Wrong(422, {"detail": detail})
    return 200, _chat(request, write(_prompt(request["messages"])))


def reasoning_chat(request: dict[str, Any], write: Answerer) -> Reply:
    """Chat Completions of a reasoning model: names one refused parameter at a time; reasoning takes 800 tokens."""
    for name, value in request.items():
        if name == "max_tokens":
            text = "Unsupported parameter: 'max_tokens' is not supported with this model."
            text += " Use 'max_completion_tokens' instead."
            raise Wrong(400, _openai_error(text, param=name, code="unsupported_parameter"))
        if name in ("temperature", "top_p") and value != 1:
            text = f"Unsupported value: '{name}' does not support {value} with this model."
            text += " Only the default (1) value is supported."
            raise Wrong(400, _openai_error(text, param=name, code="unsupported_value"))
        if name in ("stop", "seed"):
            text = f"Unsupported parameter: '{name}' is not supported with this model."
            raise Wrong(400, _openai_error(text, param=name, code="unsupported_parameter"))
        if name == "messages" and value[0]["role"] == "system":
            text = "Unsupported value: 'messages[0].role' does not support 'system' with this model."
            raise Wrong(400, _openai_error(text, param="messages[0].role", code="unsupported_value"))
    if request["max_completion_tokens"] < 1000:
        return 200, _chat(request, "", finish="length", reasoning=request["max_completion_tokens"])
    return 200, _chat(request, write(_prompt(request["messages"])), reasoning=800)


def responses(request: dict[str, Any], write: Answerer) -> Reply:
    """OpenAI's Responses API with a reasoning model."""
    for name in ("messages", "max_tokens", "stop", "seed"):
        if name in request:
            raise Wrong(400, _openai_error(f"Unknown parameter: '{name}'.", param=name, code="unknown_parameter"))
    if "temperature" in request:
        text = "Unsupported parameter: 'temperature' is not supported with this model."
        raise Wrong(400, _openai_error(text, param="temperature", code=None))
    text = write(_prompt(request["input"]))
    thought = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "I draft a plan."}]}
    part = {"type": "output_text", "text": text, "annotations": []}
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
    usage = {
        "input_tokens": 90, "input_tokens_details": {"cached_tokens": 64}, "output_tokens": 30,
        "output_tokens_details": {"reasoning_tokens": 20}, "total_tokens": 120,
    }  # fmt: skip
    value = {"id": "resp_1", "object": "response", "status": "completed", "error": None, "incomplete_details": None,
             "output": [thought, message], "usage": usage}  # fmt: skip
    if not request.get("stream"):
        return 200, value
    events: list[Any] = [{"type": "response.created", "response": {**value, "status": "in_progress", "output": []}}]
    events += [{"type": "response.output_text.delta", "delta": piece} for piece in _pieces(text)]
    events += [{"type": "response.output_item.done", "item": item} for item in (thought, message)]
    return 200, [*events, {"type": "response.completed", "response": value}]


def messages(request: dict[str, Any], write: Answerer) -> Reply:
    """Anthropic's Messages API, with a thought before the answer."""
    for name in request:
        known = (
            "model",
            "messages",
            "system",
            "max_tokens",
            "temperature",
            "top_p",
            "stop_sequences",
            "stream",
            "tools",
        )
        if name not in known:
            error = {"type": "invalid_request_error", "message": f"{name}: Extra inputs are not permitted"}
            raise Wrong(400, {"type": "error", "error": error})
    if any(message["role"] not in ("user", "assistant") for message in request["messages"]):
        error = {"type": "invalid_request_error", "message": 'messages: Unexpected role "system"'}
        raise Wrong(400, {"type": "error", "error": error})
    text = write(request.get("system", "") + _prompt(request["messages"]))
    usage = {"input_tokens": 10, "cache_read_input_tokens": 70, "cache_creation_input_tokens": 5, "output_tokens": 30}
    thought = {"type": "thinking", "thinking": "I draft a plan.", "signature": "c2ln"}
    if not request.get("stream"):
        content = [thought, {"type": "text", "text": text}]
        return 200, {
            "type": "message",
            "role": "assistant",
            "content": content,
            "stop_reason": "end_turn",
            "usage": usage,
        }
    start = {"type": "message", "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    return 200, [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "I draft a plan."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        *({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": piece}}
          for piece in _pieces(text)),
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 30}},
        {"type": "message_stop"},
    ]  # fmt: skip


GATEWAY_ERRORS: tuple[Any, ...] = (
    {"error": {"message": "Provider returned error", "code": 502}},
    {"choices": []},
    {"choices": None, "error": {"type": "overloaded_error", "message": "Overloaded"}},
    {"type": "error", "error": {"type": "api_error", "message": "Internal server error"}},
    {
        "choices": [
            {"error": {"message": "upstream", "code": 503}, "message": {"content": ""}, "finish_reason": "error"}
        ]
    },
)


def gateway(earlier: list[dict[str, Any]], request: dict[str, Any], write: Answerer) -> Reply:
    """Chat Completions behind a router: the first answer to every eighth conversation is an error with status 200.

    Usage is nested. Which request fails does not depend on how many arrive at once: every retry succeeds.
    """
    known = {_prompt(one["messages"]) for one in earlier}
    if _prompt(request["messages"]) not in known and (len(known) + 1) % 8 == 0:
        error = GATEWAY_ERRORS[(len(known) + 1) // 8 % len(GATEWAY_ERRORS)]
        return 200, [error] if request.get("stream") else error
    value = _chat(request, write(_prompt(request["messages"])))
    for part in value if isinstance(value, list) else [value]:
        if isinstance(part, dict) and part.get("usage"):
            part["usage"] = {"tokens": {"prompt": 9, "completion": 3}, "cost": {"usd": 0.001}}
    return 200, value


class JsonHandler(BaseHTTPRequestHandler):
    """Sends JSON, and lists as server-sent events."""

    protocol_version = "HTTP/1.1"

    def send_value(self, status: int, value: Any) -> None:
        kind_of_body, body = "application/json", json.dumps(value).encode()
        if isinstance(value, list):
            kind_of_body, body = "text/event-stream", _stream(value)
        self.send_response(status)
        self.send_header("Content-Type", kind_of_body)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256


@contextmanager
def serving(kind: str, write: Answerer) -> Iterator[Service]:
    """Run a service. Its address is the base of its API, or for Responses and Messages the address of calls.

    Args:
        kind: `old-chat`, `reasoning-chat`, `responses`, `messages` or `gateway`.
        write: its model.
    """
    lock = threading.Lock()
    service = Service(url="")

    class Handler(JsonHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                earlier = list(service.requests)
                service.requests.append(request)
                service.headers.append(dict(self.headers))
            if self.path != PATHS[kind]:
                return self.send_value(404, {"error": {"message": f"no such path {self.path}"}})
            try:
                status, value = gateway(earlier, request, write) if kind == "gateway" else KINDS[kind](request, write)
            except Wrong as wrong:
                status, value = wrong.reply
            return self.send_value(status, value)

    server = Server(("127.0.0.1", 0), Handler)
    with in_a_thread(server) as url:
        service.url = url + (PATHS[kind] if kind in ("responses", "messages") else "/v1")
        yield service


KINDS: Mapping[str, Callable[[dict[str, Any], Answerer], Reply]] = {
    "old-chat": old_chat, "reasoning-chat": reasoning_chat, "responses": responses, "messages": messages,
}  # fmt: skip
PATHS = {
    "old-chat": "/v1/chat/completions", "reasoning-chat": "/v1/chat/completions", "gateway": "/v1/chat/completions",
    "responses": "/v1/responses", "messages": "/v1/messages",
}  # fmt: skip


def _chat(request: Mapping[str, Any], text: str, *, finish: str = "stop", reasoning: int = 0) -> Any:
    usage: dict[str, Any] = {"prompt_tokens": 90, "completion_tokens": 30 + reasoning, "total_tokens": 120 + reasoning}
    if reasoning:
        usage["completion_tokens_details"] = {"reasoning_tokens": reasoning, "audio_tokens": None}
        usage["prompt_tokens_details"] = {"cached_tokens": 64}
    if not request.get("stream"):
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
        return {"id": "c-1", "object": "chat.completion", "choices": [choice], "usage": usage}
    pieces = [{"role": "assistant", "content": ""}, *({"content": piece} for piece in _pieces(text))]
    chunks: list[Any] = [{"choices": [{"index": 0, "delta": piece, "finish_reason": None}]} for piece in pieces]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    return [*chunks, {"choices": [], "usage": usage}, "[DONE]"]


def _prompt(conversation: list[dict[str, str]]) -> str:
    return "\n".join(message["content"] for message in conversation)


def _pieces(text: str) -> Iterator[str]:
    return (text[start : start + 7] for start in range(0, len(text), 7))


def _stream(events: list[Any]) -> bytes:
    lines = [": a comment, as proxies send to keep the connection\n\n"]
    for event in events:
        name = f"event: {event['type']}\n" if isinstance(event, dict) and "type" in event else ""
        lines.append(f"{name}data: {event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)}\n\n")
    return "".join(lines).encode()


def _openai_error(message: str, *, param: str, code: str | None) -> Any:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}
