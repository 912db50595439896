"""An API server in memory, as the worker sees it: keeps what it gets, and fails as it is told."""

import json
from collections import deque
from typing import Any

import httpx

from evaluator.execution.engine.store import digest_of
from gpu_jobs import bundles

LEASE: dict[str, Any] = {
    "attempt": "a1", "token": "attempt-token", "expires_in": 60, "heartbeat_seconds": 0.05, "evaluation": "e1",
    "suite": "openagi", "suite_digest": "s" * 64, "profile": "lilliput", "profile_digest": "p" * 64, "split": "public",
    "samples": 1, "data_digest": "d" * 64, "planner": {"kind": "bundled", "name": "gold"}, "tasks": ["0", "1", "2"],
}  # fmt: skip


class FakeApi:
    """Gives out `leases`, answers the next calls with `failures`, and ends attempts when `over` is set.

    As the site it takes a second delivery of `finish` for what it is, and gives a lease again to who asks with the same
    token.
    """

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
        self._finished: set[str] = set()
        self.log_failures: deque[int] = deque()
        self.ended: list[tuple[str, dict[str, Any]]] = []
        self.given: dict[str, dict[str, Any] | None] = {}
        """The answer to each lease request, by its token."""
        self.work_left: bool | None = None
        """Whether shards of the evaluation are left where no lease is given; None: it does not say."""
        self.session = ""
        """The session that leases are given for; opening another one ends it."""
        self.session_seconds = 3600.0
        self.opened: list[dict[str, Any]] = []
        """What sessions were asked for."""
        self.enrolments = {"operator"}
        """Tokens that workers come with."""
        self.enrolment_refused = ""
        """Code with which sessions are refused; empty: they are opened."""
        self.seed = ""
        self.header: dict[str, str] = {}
        self.lost_answers = 0
        """So many of the next calls are done, and their answers lost."""

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
        answer = self._done(path, request)
        if self.lost_answers and not path.endswith(("/heartbeat/", "/log/")):
            self.lost_answers -= 1
            raise httpx.ReadTimeout("told to lose the answer")
        return answer

    def _done(self, path: str, request: httpx.Request) -> httpx.Response:
        if path == "session/":
            return self._open_session(request)
        if path == "lease/":
            if request.headers["Authorization"] != f"Bearer {self.session}":
                return httpx.Response(403, json={"code": "session_over", "detail": "over"})
            found = self._lease(json.loads(request.content))
            return httpx.Response(204, headers=self._left()) if found is None else httpx.Response(200, json=found)
        assert request.headers["Authorization"] == "Bearer attempt-token"
        if self.over:
            return httpx.Response(409, json={"code": self.over, "detail": "over"})
        return self._attempt(path.split("/", 2)[2], request)

    def _open_session(self, request: httpx.Request) -> httpx.Response:
        assert request.headers["Authorization"] in {f"Bearer {token}" for token in self.enrolments}
        if self.enrolment_refused:
            return httpx.Response(403, json={"code": self.enrolment_refused, "detail": "refused"})
        self.opened.append(json.loads(request.content))
        self.session = f"session-{len(self.opened)}"
        return httpx.Response(201, json={"token": self.session, "expires_in": self.session_seconds})

    def _left(self) -> dict[str, str]:
        return {} if self.work_left is None else {"X-Work-Left": "1" if self.work_left else "0"}

    def _lease(self, wanted: dict[str, Any]) -> dict[str, Any] | None:
        if wanted["token"] not in self.given:
            if not self.leases:
                return None
            self.given[wanted["token"]] = self.leases.popleft()
            self.log, self._attempt_ended = {}, False
        return self.given[wanted["token"]]

    def _attempt(self, call: str, request: httpx.Request) -> httpx.Response:
        if call.startswith("objects/") and request.method == "PUT":
            assert digest_of(request.content) == call.split("/")[1]
            self.objects[call.split("/")[1]] = request.content
            return httpx.Response(204)
        if call == "objects/":
            frames = bundles.unpack(request.content)
            self.objects |= {frame.digest: frame.data for frame in frames if frame.digest not in self.refused}
            return httpx.Response(200, json={"kept": len(frames), "refused": self.refused})
        if call == "seed/":
            return httpx.Response(200, json={"season": "1", "seed": self.seed})
        if call == "secret-header/":
            return (
                httpx.Response(200, json=self.header)
                if self.header
                else httpx.Response(404, json={"code": "not_found"})
            )
        body = json.loads(request.content)
        if call == "objects/missing/":
            return httpx.Response(200, json={"missing": [d for d in body["digests"] if d not in self.objects]})
        if call == "finish/":
            return self._finish(body, request)
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
            return self._take_in(body["results"]) or httpx.Response(200, json={"new": len(body["results"])})
        if call == "fail/":
            self._attempt_ended = True
            self.ended.append((call.strip("/"), body))
        return httpx.Response(204)

    def _take_in(self, records: list[dict[str, Any]]) -> httpx.Response | None:
        named = [sample["answer"]["digest"] for record in records for sample in record["samples"]]
        if missing := [digest for digest in named if digest not in self.objects]:
            return httpx.Response(409, json={"code": "objects_missing", "detail": "missing", "missing": missing})
        self.results |= {record["task"]: record for record in records}
        return None

    def _finish(self, body: dict[str, Any], request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if path not in self._finished:
            if refusal := self._take_in(body["results"]):
                return refusal
            for number, line in enumerate(body["log"]["lines"], start=body["log"]["first"]):
                assert self.log.setdefault(number, line["text"]) == line["text"]
            self.ended.append(("finish", {"provenance": body["provenance"]}))
            self._finished.add(path)
            self._attempt_ended = True
        wanted = body["next"]
        may_lease = request.headers.get("X-Worker-Token") == self.session
        return httpx.Response(200, json={"next": self._lease(wanted) if wanted is not None and may_lease else None})
