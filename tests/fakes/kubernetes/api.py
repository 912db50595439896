"""An API server that speaks Kubernetes' protocol over real HTTP, for the real client.

It keeps objects with versions, answers lists in pages and watches as streams, refuses what the caller's role or an
immutable field forbids (`tests.fakes.kubernetes.admission`), and fails as it is told. What the cluster does
with the objects is `tests.fakes.kubernetes.cluster`.
"""

import copy
import json
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from kubernetes.client import Configuration

from gpu_jobs.launchers.kubernetes.client import ClusterClient, api_client
from tests.fakes.kubernetes.admission import forbidden, refused_changes
from tests.fakes.serving import in_a_thread

Json = dict[str, Any]
NAMESPACE = "planarena-jobs"
CONTROLLER: tuple[Json, ...] = (
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["delete", "get", "list", "patch", "watch"]},
    {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["list"]},
    {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "patch"],
     "resourceNames": ["planarena-pool-cpu", "planarena-pool-gpu"]},
    {"apiGroups": ["kueue.x-k8s.io"], "resources": ["workloads"], "verbs": ["list"]},
    {"apiGroups": ["keda.sh"], "resources": ["scaledobjects"], "verbs": ["list"]},
)  # fmt: skip
"""The rules of the controller's role, as the Helm chart gives them for the pools `cpu` and `gpu`."""
_KINDS = {
    "pods": "/api/v1", "secrets": "/api/v1", "deployments": "/apis/apps/v1",
    "workloads": "/apis/kueue.x-k8s.io/v1beta2", "scaledobjects": "/apis/keda.sh/v1alpha1",
}  # fmt: skip
_VERBS = {"GET": "get", "PATCH": "patch", "DELETE": "delete"}


def merge_patch(target: Mapping[str, Any], patch: Mapping[str, Any]) -> Json:
    """RFC 7386: objects merge, null removes, everything else replaces."""
    merged = dict(target)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping):
            before = merged.get(key)
            merged[key] = merge_patch(before if isinstance(before, Mapping) else {}, value)
        else:
            merged[key] = value
    return merged


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What happens to the next request that it fits."""

    method: str = ""
    part: str = ""
    """Of the path and query."""
    status: int = 0
    """Answer this instead."""
    reason: str = ""
    """Of the Status, if not the one that such a status usually has."""
    message: str = "told to fail"
    """Of the Status."""
    retry_after: str = ""
    body: bytes = b""
    """Instead of a Status."""
    drop: str = ""
    """`before` or `after` it is done, the connection is closed without an answer; `never`: it stays open, silent."""


class FakeKubernetesApi:
    """Objects of one namespace, by kind and name."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], Json] = {}
        self.faults: deque[Fault] = deque()
        self.requests: list[tuple[str, str]] = []
        self.url = ""
        self.rules: Sequence[Json] = CONTROLLER
        """What the caller's role permits."""
        self.operators = {"workloads", "scaledobjects"}
        """Kinds of custom resources whose operators (Kueue, KEDA) are installed."""
        self._version = 100
        self._events: deque[tuple[int, str, str, Json]] = deque()
        self._oldest = 0
        self._changed = threading.Condition()
        self._closing = False

    # --- The store ----------------------------------------------------------------------------------------------------

    def all(self, kind: str) -> list[Json]:
        """Every object of a kind, oldest first."""
        with self._changed:
            return [copy.deepcopy(item) for (which, _), item in self.objects.items() if which == kind]

    def get(self, kind: str, name: str) -> Json | None:
        with self._changed:
            return copy.deepcopy(self.objects.get((kind, name)))

    def put(self, kind: str, item: Json) -> Json:
        """Add or replace an object, and tell those who watch."""
        with self._changed:
            name = item["metadata"]["name"]
            self._version += 1
            item = copy.deepcopy(item)
            item["metadata"]["resourceVersion"] = str(self._version)
            item["metadata"].setdefault("uid", f"uid-{self._version}")
            event = "MODIFIED" if (kind, name) in self.objects else "ADDED"
            self.objects[kind, name] = item
            self._tell(event, kind, item)
            return copy.deepcopy(item)

    def remove(self, kind: str, name: str) -> None:
        """Remove an object."""
        with self._changed:
            item = self.objects.pop((kind, name), None)
            if item is None:
                return
            self._version += 1
            item["metadata"]["resourceVersion"] = str(self._version)
            self._tell("DELETED", kind, item)

    def forget_events(self) -> None:
        """As after compaction: whoever watches from before now gets 410."""
        with self._changed:
            self._events.clear()
            self._oldest = self._version

    def _tell(self, event: str, kind: str, item: Json) -> None:
        self._events.append((self._version, kind, event, copy.deepcopy(item)))
        self._changed.notify_all()

    # --- Serving ------------------------------------------------------------------------------------------------------

    @contextmanager
    def serving(self) -> Iterator["FakeKubernetesApi"]:
        """Answer on a free port."""
        server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"fake": self}))
        with in_a_thread(server) as self.url:
            try:
                yield self
            finally:
                with self._changed:
                    self._closing = True
                    self._changed.notify_all()

    def client(self, **options: Any) -> ClusterClient:
        """The real client, pointed here."""
        api = api_client(Configuration(host=self.url, api_key={"BearerToken": "bearer of-the-tests"}))
        given = {
            "timeout": (1.0, 1.0),
            "patience_seconds": 3.0,
            "rest_seconds": 0.0,
            "sleep": lambda seconds: time.sleep(seconds / 50),
        }
        return ClusterClient(api=api, namespace=NAMESPACE, **{**given, **options})

    def take_fault(self, *, method: str, path: str) -> Fault | None:
        """The first fault, if it is meant for this request."""
        with self._changed:
            self.requests.append((method, path))
            if self.faults and self.faults[0].method in ("", method) and self.faults[0].part in path:
                return self.faults.popleft()
            return None

    def events_after(self, *, kind: str, version: int, seconds: float) -> Iterator[Json]:
        """Watch events, until the time is over."""
        until = time.monotonic() + seconds
        with self._changed:
            if version < self._oldest:
                yield {
                    "type": "ERROR",
                    "object": {"kind": "Status", "code": 410, "message": "too old resource version"},
                }
                return
        while True:
            with self._changed:
                ready = [event for event in self._events if event[0] > version and event[1] == kind]
                if not ready:
                    left = until - time.monotonic()
                    if left <= 0 or self._closing:
                        return
                    self._changed.wait(min(left, 0.2))
                    continue
            for number, _, event, item in ready:
                version = number
                yield {"type": event, "object": item}

    def wait_for_the_end(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._closing)

    @property
    def version(self) -> int:
        return self._version


def _selected(item: Json, selector: str) -> bool:
    labels = item["metadata"].get("labels", {})
    wanted = [part.partition("=") for part in filter(None, selector.split(","))]
    return all(key in labels and (not equals or labels[key] == value) for key, equals, value in wanted)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    fake: FakeKubernetesApi
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._serve()

    def do_PATCH(self) -> None:
        self._serve()

    def do_DELETE(self) -> None:
        self._serve()

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fault = self.fake.take_fault(method=self.command, path=self.path)
        if fault and fault.drop == "before":
            return self._hang_up()
        if fault and fault.drop == "never":
            return self.fake.wait_for_the_end()
        if fault and fault.status:
            failure = _status(fault.status, fault.message, reason=fault.reason)
            return self._answer(fault.status, fault.body or failure, fault.retry_after)
        if self.headers.get("Authorization", "").lower() != "bearer of-the-tests":
            return self._answer(401, _status(401, "Unauthorized"))
        query = {key: values[-1] for key, values in parse_qs(urlsplit(self.path).query).items()}
        if why := self._forbidden(query):
            return self._answer(403, _status(403, why))
        if query.get("watch"):
            return self._watch(query, drops=fault is not None and fault.drop == "after")
        status, answer = self._do(query, json.loads(body or b"{}"))
        if fault and fault.drop == "after":
            return self._hang_up()
        return self._answer(status, answer)

    @property
    def _named(self) -> tuple[str, str]:
        """Kind and name; the path ends with .../namespaces/NAMESPACE/KIND[/NAME]."""
        before, _, rest = urlsplit(self.path).path.partition(f"/namespaces/{NAMESPACE}/")
        kind, _, name = rest.partition("/")
        return (kind, name) if _KINDS.get(kind) == before else ("", "")

    def _do(self, query: dict[str, str], body: Json) -> tuple[int, Json]:
        kind, name = self._named
        if not kind or (kind in {"workloads", "scaledobjects"} and kind not in self.fake.operators):
            return 404, _status(404, "the server could not find the requested resource")
        if not name:
            return self._list(kind, query)
        found = self.fake.get(kind, name)
        if found is None:
            return 404, _status(404, f'{kind} "{name}" not found')
        if self.command == "PATCH":
            return self._patch(kind, before=found, patch=body)
        if self.command == "DELETE":
            self.fake.remove(kind, name)
        return 200, found

    def _forbidden(self, query: dict[str, str]) -> str:
        kind, name = self._named
        verb = _VERBS[self.command]
        if verb == "get" and not name:
            verb = "watch" if query.get("watch") else "list"
        return forbidden(self.fake.rules, verb=verb, kind=kind, name=name)

    def _patch(self, kind: str, *, before: Json, patch: Json) -> tuple[int, Json]:
        assert self.headers["Content-Type"] == "application/merge-patch+json"
        after = merge_patch(before, patch)
        if changed := refused_changes(before=before, after=after):
            why = ", ".join(f"{path}: Invalid value: ...: field is immutable" for path in changed)
            return 422, _status(422, f'{after["kind"]} "{after["metadata"]["name"]}" is invalid: {why}')
        return 200, self.fake.put(kind, after)

    def _list(self, kind: str, query: dict[str, str]) -> tuple[int, Json]:
        found = [item for item in self.fake.all(kind) if _selected(item, query.get("labelSelector", ""))]
        start, limit = int(query.get("continue", 0)), int(query.get("limit", 10_000))
        metadata = {"resourceVersion": str(self.fake.version)}
        if start + limit < len(found):
            metadata["continue"] = str(start + limit)
        return 200, {"kind": "List", "metadata": metadata, "items": found[start : start + limit]}

    def _watch(self, query: dict[str, str], *, drops: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        kind, _ = self._named
        events = self.fake.events_after(
            kind=kind, version=int(query["resourceVersion"]), seconds=float(query["timeoutSeconds"])
        )  # fmt: skip
        for event in events:
            if event["type"] == "ERROR" or _selected(event["object"], query["labelSelector"]):
                line = json.dumps(event).encode() + b"\n"
                # In two chunks: a client must put lines together itself.
                for part in (line[:20], line[20:]):
                    self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
                self.wfile.flush()
        if drops:
            return self._hang_up()
        self.wfile.write(b"0\r\n\r\n")
        return None

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _answer(self, status: int, answer: Json | bytes, retry_after: str = "") -> None:
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if retry_after:
            self.send_header("Retry-After", retry_after)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments: object) -> None:
        """Nothing: tests need no access log."""


_REASONS = {
    401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 409: "AlreadyExists", 410: "Expired", 422: "Invalid",
    429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable",
}  # fmt: skip


def _status(code: int, message: str, *, reason: str = "") -> Json:
    reason = reason or _REASONS.get(code, "")
    return {"kind": "Status", "apiVersion": "v1", "code": code, "reason": reason, "message": message}
