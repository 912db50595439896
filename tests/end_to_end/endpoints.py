"""Planner endpoints for the tests: the example of the repository, and one that misbehaves task by task."""

import importlib.util
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

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
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def step(step_id: str, tool: str, value: str, output: str = "image") -> dict[str, Any]:
    return {"id": step_id, "tool": tool, "inputs": {"image": value}, "outputs": {output: f"{step_id}.{output}"}}


class Misbehaving(BaseHTTPRequestHandler):
    """Answers each of some tasks wrongly in its own way, and all others as the example does."""

    make_plan = staticmethod(example().make_plan)
    mended = False
    """Whether the task that was unavailable is answered now."""
    asked: dict[str, int] = {}
    WRONG = {
        "0": b"x" * 3_000_000,
        "1": b"<!doctype html><title>Welcome</title>",
        "2": b'{"plan": {"steps": [',
        "3": {"steps": [step("s1", "Time Travel", "$image")], "answers": ["s1.image"]},
        "4": {
            "steps": [step("s1", "Colorization", "s2.image"), step("s2", "Image Denoising", "s1.image")],
            "answers": ["s2.image"],
        },
        "5": {
            "steps": [step("s1", "Image Classification", "$image", "text"), step("s2", "Colorization", "s1.text")],
            "answers": ["s2.image"],
        },
    }
    LATE, UNAVAILABLE = "6", "7"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        task = request["task"]["id"]
        self.asked[task] = self.asked.get(task, 0) + 1
        if task == self.LATE:
            time.sleep(3)
        if task == self.UNAVAILABLE and not type(self).mended:
            self._answer(503, b"try later")
            return
        wrong = self.WRONG.get(task)
        plan = wrong if isinstance(wrong, dict) else self.make_plan(request)
        self._answer(200, wrong if isinstance(wrong, bytes) else json.dumps({"plan": plan}).encode())

    def _answer(self, status: int, body: bytes) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            return

    def log_message(self, *_: object) -> None:
        return
