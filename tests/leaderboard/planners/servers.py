"""Endpoints that ask for a secret header, on this machine."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

from evaluator.planners.trials.trial import small_task
from evaluator.plans import plan_to_json
from evaluator.suites import suite_of
from tests.end_to_end.endpoints import serving

TOKEN = "Bearer s3cr3t-of-the-owner-ab12"
PLAN = plan_to_json(small_task(suite_of("openagi")).gold)


@dataclass
class Guarded:
    """What it was sent."""

    url: str = ""
    headers: list[str | None] = field(default_factory=list)
    """The header `Authorization` of each request."""


@contextmanager
def guarded(*, echo: bool = False) -> Iterator[Guarded]:
    """Answers with a plan, which repeats the secret if `echo`, or 401 to who does not know it."""
    found = Guarded()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            sent = self.headers["Authorization"]
            found.headers.append(sent)
            plan = {**PLAN, "subgoals": [f"use {sent}"]} if echo else PLAN
            good = sent == TOKEN
            body = json.dumps({"plan": plan} if good else {"error": f"not allowed with {sent}"}).encode()
            self.send_response(200 if good else 401)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    with serving(Handler) as url:
        found.url = f"{url}plan"
        yield found


@dataclass
class Chat:
    """A chat API, and what it was sent."""

    url: str = ""
    """Its base."""
    headers: list[str | None] = field(default_factory=list)
    """The header `Authorization` of each request."""
    requests: list[dict[str, object]] = field(default_factory=list)
    paths: set[str] = field(default_factory=set)


@contextmanager
def chatting(*, answer: str = "Image Denoising", echo: bool = False, status: int = 200) -> Iterator[Chat]:
    """Answers each conversation alike, and repeats the secret if `echo`; 401 to who does not know it."""
    found = Chat()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            found.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            found.paths.add(self.path)
            sent = self.headers["Authorization"]
            found.headers.append(sent)
            choice = {"message": {"role": "assistant", "content": f"use {sent}" if echo else answer}}
            good = {"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 2}}
            told = status if sent == TOKEN else 401
            body = json.dumps(good if told == 200 else {"error": f"not allowed with {sent}"}).encode()
            self.send_response(told)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    with serving(Handler) as url:
        found.url = f"{url}v1"
        yield found
