"""Endpoints that ask for a secret header, on this machine."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from evaluator.core.plans.model import plan_to_json
from evaluator.core.suites.registry import suite_of
from evaluator.planners.trials.trial import small_task
from tests.end_to_end.endpoints import serving

TOKEN = "Bearer s3cr3t-of-the-owner-ab12"
PLAN = plan_to_json(small_task(suite_of("openagi")).gold)


@dataclass
class Guarded:
    """An endpoint, and what it was sent."""

    url: str = ""
    headers: list[str | None] = field(default_factory=list)
    """The header `Authorization` of each request."""
    requests: list[dict[str, Any]] = field(default_factory=list)
    paths: set[str] = field(default_factory=set)


@contextmanager
def _guarding(answer: Callable[[str], Any], *, path: str) -> Iterator[Guarded]:
    """Answers requests with the right token, and 401 to all others."""
    found = Guarded()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            found.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            found.paths.add(self.path)
            sent = self.headers["Authorization"]
            found.headers.append(sent)
            code = 200 if sent == TOKEN else 401
            body = json.dumps(answer(sent) if code == 200 else {"error": f"not allowed with {sent}"}).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    with serving(Handler) as url:
        found.url = f"{url}{path}"
        yield found


def guarded(*, echo: bool = False):
    """A planner endpoint that answers with a plan, which repeats the secret if `echo`."""
    return _guarding(lambda sent: {"plan": {**PLAN, "subgoals": [f"use {sent}"]} if echo else PLAN}, path="plan")


def chatting(*, answer: str = "Image Denoising", echo: bool = False):
    """A chat API, at its base, that answers each conversation alike and repeats the secret if `echo`."""

    def said(sent: str) -> dict[str, Any]:
        choice = {"message": {"role": "assistant", "content": f"use {sent}" if echo else answer}}
        return {"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 2}}

    return _guarding(said, path="v1")


def staging(*, answer: str):
    """A planner/1 endpoint that answers each call of a role alike."""
    usage = {"prompt_tokens": 9, "completion_tokens": 2}
    return _guarding(lambda _: {"text": answer, "usage": usage}, path="stages")
