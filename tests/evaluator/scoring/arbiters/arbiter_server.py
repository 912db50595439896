"""An OpenAI-compatible endpoint on 127.0.0.1 that settles pairs of texts as a test says."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "judge-2026-01-01"


class ArbiterServer(ThreadingHTTPServer):
    """Answers with `script`, whose last entry repeats."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[tuple[str | None, dict[str, Any]]] = []
        """API key and body of each request."""
        self.script: list[str | bytes | int] = ["Verdict: same"]
        """A text to answer with, a whole body, or the status of an error."""
        self.model = MODEL
        self.seconds = 0.0
        """Until it answers."""

    @property
    def name(self) -> str:
        """As operators name this arbiter."""
        return f"chat:http://127.0.0.1:{self.server_port}/v1#{MODEL}"


class _Handler(BaseHTTPRequestHandler):
    server: ArbiterServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.headers.get("Authorization"), body))
        answer = self.server.script[min(len(self.server.asked), len(self.server.script)) - 1]
        time.sleep(self.server.seconds)
        content = answer if isinstance(answer, bytes) else b""
        if isinstance(answer, str):
            message = {"message": {"role": "assistant", "content": answer}}
            content = json.dumps({"model": self.server.model, "choices": [message]}).encode()
        try:
            self.send_response(answer if isinstance(answer, int) else 200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        except OSError:
            pass  # who asked has gone

    def log_message(self, *arguments: object) -> None:
        pass


@contextmanager
def serving() -> Iterator[ArbiterServer]:
    """The endpoint, until the block ends."""
    server = ArbiterServer()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
