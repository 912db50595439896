"""Spans of OpenTelemetry's SDK, exported in the background over OTLP/HTTP.

Imported only if tracing is on. Work never waits for the collector: spans wait in a bounded queue, and are dropped if it
is full or if they cannot be exported.
"""

import atexit
import logging
import os
import threading
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    StatusCode,
    Tracer,
    get_current_span,
    set_span_in_context,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from evaluator import __version__
from gpu_jobs.tracing.options import HEADER, Kind, Value, service

logger = logging.getLogger(__name__)

_EXPORT_SECONDS = 3.0
"""Time limit of a batch, including retries."""
_LAST_SECONDS = 2.0
"""Time limit of the last export when the process ends."""
_COMPLAINTS_EVERY_SECONDS = 60.0
_LONGEST_VALUE = 256
_KINDS: Mapping[Kind, SpanKind] = {
    "internal": SpanKind.INTERNAL,
    "server": SpanKind.SERVER,
    "producer": SpanKind.PRODUCER,
    "consumer": SpanKind.CONSUMER,
}
_W3C = TraceContextTextMapPropagator()
_making = threading.Lock()


class OpenSpan:
    """A started span."""

    def __init__(self, span: Span) -> None:
        self._span = span
        context = span.get_span_context()
        self.trace_id = f"{context.trace_id:032x}"
        self.span_id = f"{context.span_id:016x}"
        self.sampled = bool(context.trace_flags.sampled)
        """Whether it is recorded and exported."""

    @property
    def traceparent(self) -> str:
        """The span as a W3C header."""
        return f"00-{self.trace_id}-{self.span_id}-{'01' if self.sampled else '00'}"

    def note(self, attributes: Mapping[str, Value]) -> None:
        """Add attributes."""
        for name, value in attributes.items():
            self._span.set_attribute(_named(name), value)

    def rename(self, name: str) -> None:
        """Change the name, if it is only known at the end."""
        self._span.update_name(name)

    def fail(self, kind: str) -> None:
        """Mark the span as failed, with an exception's class or an HTTP status."""
        self._span.set_attribute("error.type", kind)
        self._span.set_status(StatusCode.ERROR)

    def end(self, at: int | None = None) -> None:
        """End the span, now or at these nanoseconds since 1970."""
        self._span.end(at)


def begin(
    name: str, *, kind: Kind, parent: str, link: str, started: int | None, attributes: Mapping[str, Value]
) -> OpenSpan:
    """Start a span; arguments as for `spans.start`."""
    parent_context, linked = _context_of(parent), _context_of(link)
    return OpenSpan(
        _tracer().start_span(
            name,
            context=set_span_in_context(NonRecordingSpan(parent_context), Context()) if parent_context else Context(),
            kind=_KINDS[kind],
            links=[Link(linked)] if linked else [],
            start_time=started,
            attributes={_named(key): value for key, value in attributes.items()},
        )
    )


def end() -> None:
    """Export waiting spans within `_LAST_SECONDS`, before the process ends."""
    global _kept
    with _making:
        ending, _kept = _kept, None
    if ending is not None:
        ending.exporter.end_soon()
        ending.provider.shutdown()


class _Exporter(SpanExporter):
    """OTLP over HTTP, with a short time limit when the process ends."""

    def __init__(self) -> None:
        self._http = OTLPSpanExporter(timeout=_EXPORT_SECONDS)
        self._until: float | None = None

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        if self._until is not None and time.monotonic() > self._until:
            return SpanExportResult.FAILURE
        return self._http.export(spans)

    def shutdown(self) -> None:
        self._http.shutdown()  # type: ignore[no-untyped-call]

    def end_soon(self) -> None:
        """Start no export after `_LAST_SECONDS`."""
        self._until = time.monotonic() + _LAST_SECONDS


class _Complaints(logging.Handler):
    """Logs the exporter's warnings, at most once a minute."""

    def __init__(self) -> None:
        super().__init__(level=logging.WARNING)
        self._next = 0.0

    def emit(self, record: logging.LogRecord) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _COMPLAINTS_EVERY_SECONDS
            logger.warning("spans are lost: %s", record.getMessage()[:_LONGEST_VALUE])


class _Made(NamedTuple):
    provider: TracerProvider
    exporter: _Exporter


_kept: _Made | None = None


def _tracer() -> Tracer:
    global _kept
    with _making:
        if _kept is None:
            # Created with the first span, since each child process of a server or queue needs its own thread.
            _kept = _made()
        return _kept.provider.get_tracer("planarena", __version__)


def _made() -> _Made:
    library = logging.getLogger("opentelemetry")
    if not any(isinstance(handler, _Complaints) for handler in library.handlers):
        library.addHandler(_Complaints())
        library.propagate = False
        atexit.register(end)
    named = {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": service()}
    exporter = _Exporter()
    provider = TracerProvider(
        resource=Resource.create({**named, "service.version": __version__}),
        span_limits=SpanLimits(max_span_attribute_length=_LONGEST_VALUE),
        shutdown_on_exit=False,
    )
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return _Made(provider, exporter)


def _context_of(traceparent: str) -> SpanContext | None:
    """The span of a header; None if it is malformed or empty."""
    context = get_current_span(_W3C.extract({HEADER: traceparent}, context=Context())).get_span_context()
    return context if context.is_valid else None


def _named(attribute: str) -> str:
    return attribute if "." in attribute else f"planarena.{attribute}"
