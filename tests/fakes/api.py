"""An API server in memory, as the worker sees it: keeps what it gets, and fails as it is told."""

import json
from collections import deque
from typing import Any

import httpx

from evaluator.engine.store import digest_of
from gpu_jobs import bundles

LEASE: dict[str, Any] = {
    "attempt": "a1", "token": "attempt-token", "expires_in": 60, "heartbeat_seconds": 0.05, "evaluation": "e1",
    "suite": "openagi", "suite_digest": "s" * 64, "profile": "lilliput", "profile_digest": "p" * 64, "split": "public",
    "samples": 1, "planner": {"kind": "bundled", "name": "gold"}, "tasks": ["0", "1", "2"],
}  # fmt: skip


class FakeApi:
    """Gives out `leases`, answers the next calls with `failures`, and ends attempts when `over` is set."""

    def __init__(self, *leases: dict[str, Any]) -> None:
        self.leases = deque(leases)
        self.failures: deque[int | type[httpx.TransportError]] = deque()
        self.over = ""
        self.calls: list[str] = []
        self.refused: dict[str, str] = {}
        """Digests of artefacts that it does not take, with why."""
        self.objects: dict[str, bytes] = {}
        self.results: dict[str, dict[str, Any]] = {}
        self.log: dict[int, str] = {}
        """Lines of the last lease's log by their numbers."""
        self.late_lines: list[str] = []
        """Lines that came after the end of their attempt."""
        self._attempt_ended = False
        self.log_failures: deque[int] = deque()
        self.ended: list[tuple[str, dict[str, Any]]] = []

    @property
    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self._answer)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/api/v1/worker/")
        if self.failures and not path.endswith(("/heartbeat/", "/log/")):
            failure = self.failures.popleft()
            if isinstance(failure, int):
                return httpx.Response(failure, json={"detail": "told to fail"})
            raise failure("told to fail")
        self.calls.append(path)
        if path == "lease/":
            if not self.leases:
                return httpx.Response(204)
            self.log, self._attempt_ended = {}, False
            return httpx.Response(200, json=self.leases.popleft())
        assert request.headers["Authorization"] == "Bearer attempt-token"
        if self.over:
            return httpx.Response(409, json={"code": self.over, "detail": "over"})
        return self._attempt(path.split("/", 2)[2], request)

    def _attempt(self, call: str, request: httpx.Request) -> httpx.Response:
        if call.startswith("objects/") and request.method == "PUT":
            assert digest_of(request.content) == call.split("/")[1]
            self.objects[call.split("/")[1]] = request.content
            return httpx.Response(204)
        if call == "objects/":
            frames = bundles.unpack(request.content)
            self.objects |= {frame.digest: frame.data for frame in frames if frame.digest not in self.refused}
            return httpx.Response(200, json={"kept": len(frames), "refused": self.refused})
        body = json.loads(request.content)
        if call == "objects/missing/":
            return httpx.Response(200, json={"missing": [d for d in body["digests"] if d not in self.objects]})
        if call == "log/":
            if self.log_failures:
                return httpx.Response(self.log_failures.popleft(), json={})
            if self._attempt_ended:
                self.late_lines += [line["text"] for line in body["lines"]]
                return httpx.Response(409, json={"code": "completed"})
            for number, line in enumerate(body["lines"], start=body["first"]):
                assert self.log.setdefault(number, line["text"]) == line["text"]
            return httpx.Response(200, json={"next": len(self.log), "cut": False})
        if call == "results/":
            for record in body["results"]:
                named = [sample["answer"]["digest"] for sample in record["samples"]]
                assert all(digest in self.objects for digest in named), "results came before their artefacts"
                self.results[record["task"]] = record
            return httpx.Response(200, json={"new": len(body["results"])})
        if call in {"complete/", "fail/"}:
            self._attempt_ended = True
            self.ended.append((call.strip("/"), body))
        return httpx.Response(204)
