"""Endpoints of planners, for tests."""

import importlib.util
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from evaluator.core.plans.model import plan_to_json
from evaluator.core.suites.registry import suite_of
from tests.fakes.serving import Server, in_a_thread
from tests.processes import ROOT


def example() -> Any:
    """The module `examples/planner_server.py`."""
    spec = importlib.util.spec_from_file_location("planner_server", ROOT / "examples" / "planner_server.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    with in_a_thread(Server(("127.0.0.1", 0), handler)) as url:
        yield f"{url}/"


@contextmanager
def answering_gold(spoil: Callable[[str, dict[str, Any]], None]) -> Iterator[str]:
    """An endpoint that answers with the suite's gold plans, after `spoil` changed them; it gets the task's key."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            key = request["task"]["id"]
            gold = suite_of(request["suite"]).task(key).gold
            assert gold is not None
            plan = plan_to_json(gold)
            spoil(key, plan)
            body = json.dumps({"plan": plan}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    with serving(Handler) as url:
        yield url
