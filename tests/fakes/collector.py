"""A collector of traces: OTLP over HTTP, as protobuf messages."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from gpu_jobs.tracing import exporting, options, spans
from tests.fakes.serving import Server, in_a_thread


@dataclass(frozen=True)
class ReceivedSpan:
    """A span as it came."""

    name: str
    service: str
    trace: str
    id: str
    parent: str
    """Empty: it begins its trace."""
    links: tuple[str, ...]
    """Traces that it is linked to."""
    attributes: dict[str, Any]
    failed: bool
    seconds: float


class Collector:
    """Keeps what comes, and the headers that it came with."""

    def __init__(self) -> None:
        self.spans: list[ReceivedSpan] = []
        self.headers: list[dict[str, str]] = []
        self.raw: list[bytes] = []
        self.url = ""

    def named(self, name: str) -> list[ReceivedSpan]:
        return [span for span in self.spans if span.name == name]

    def one(self, name: str) -> ReceivedSpan:
        (found,) = self.named(name)
        return found

    def take(self, body: bytes, headers: dict[str, str]) -> None:
        self.headers.append(headers)
        self.raw.append(body)
        for group in ExportTraceServiceRequest.FromString(body).resource_spans:
            service = next(one.value.string_value for one in group.resource.attributes if one.key == "service.name")
            for scope in group.scope_spans:
                self.spans += [_received(span, service=service) for span in scope.spans]


def _received(span: Any, *, service: str) -> ReceivedSpan:
    values = {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}
    return ReceivedSpan(
        name=span.name, service=service, trace=span.trace_id.hex(), id=span.span_id.hex(),
        parent=span.parent_span_id.hex(), links=tuple(link.trace_id.hex() for link in span.links), attributes=values,
        failed=span.status.code == 2, seconds=(span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
    )  # fmt: skip


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector on a free port."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/traces", self.path
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            collector.take(body, {name.lower(): value for name, value in self.headers.items()})
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = Server(("127.0.0.1", 0), Handler)
    with in_a_thread(server) as collector.url:
        yield collector


@contextmanager
def tracing_to(url: str, **variables: str) -> Iterator[None]:
    """This process exports spans to an address. They have arrived when the context is left, if somebody is there."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {options.VARIABLE: url, **variables}.items():
            patch.setenv(name, value)
        spans.is_on.cache_clear()
        options.name_service("planarena-site")
        try:
            yield
        finally:
            exporting.end()
            spans.enter(None)
            patch.undo()
            spans.is_on.cache_clear()
