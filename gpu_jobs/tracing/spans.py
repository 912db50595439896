"""Spans of a process.

OpenTelemetry is only imported if OTEL_EXPORTER_OTLP_ENDPOINT is set. The current span is kept here and not in
OpenTelemetry's context, from which libraries would add it to calls of third-party servers.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING

from gpu_jobs.tracing.options import VARIABLE, Kind, Value

if TYPE_CHECKING:
    from gpu_jobs.tracing.exporting import OpenSpan

_WELL_FORMED = re.compile(r"00-(?P<trace>[0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
_OFF: AbstractContextManager[None] = nullcontext()
_current: ContextVar["OpenSpan | None"] = ContextVar("span", default=None)


@cache
def is_on() -> bool:
    """Whether this process records spans."""
    return bool(os.environ.get(VARIABLE, "").strip()) and os.environ.get("OTEL_SDK_DISABLED", "").lower() != "true"


def flush() -> None:
    """Export waiting spans, for processes that end without `atexit`."""
    if is_on():
        from gpu_jobs.tracing.exporting import end

        end()


def start(
    name: str,
    *,
    kind: Kind = "internal",
    parent: str | None = None,
    link: str = "",
    started: int | None = None,
    attributes: Mapping[str, Value] | None = None,
) -> "OpenSpan | None":
    """Start a span, without making it the current one; None if tracing is off.

    Args:
        name: of the operation, from a small set.
        kind: role of the span.
        parent: `traceparent` of the parent; None: the current span, if any; empty or malformed: none, which starts a
            trace.
        link: `traceparent` of a causing span in another trace.
        started: nanoseconds since 1970; None: now.
        attributes: ids and sizes, of PlanArena or, with a dot in their names, of OpenTelemetry's conventions. Never
            texts of users, planners or the database.
    """
    if not is_on():
        return None
    from gpu_jobs.tracing.exporting import begin

    if parent is None:
        parent = traceparent()
    return begin(name, kind=kind, parent=parent, link=link, started=started, attributes=attributes or {})


def span(
    name: str,
    *,
    kind: Kind = "internal",
    parent: str | None = None,
    link: str = "",
    started: int | None = None,
    attributes: Mapping[str, Value] | None = None,
) -> AbstractContextManager[None]:
    """A context in which a new span is the current one. Arguments as for `start`."""
    opened = start(name, kind=kind, parent=parent, link=link, started=started, attributes=attributes)
    return _OFF if opened is None else _inside(opened)


@contextmanager
def _inside(opened: "OpenSpan") -> Iterator[None]:
    before = _current.get()
    _current.set(opened)
    try:
        yield
    except BaseException as error:
        # Without the message, which may contain anything.
        opened.fail(type(error).__name__)
        raise
    finally:
        _current.set(before)
        opened.end()


def enter(opened: "OpenSpan | None") -> None:
    """Set the current span of this context."""
    _current.set(opened)


def current() -> "OpenSpan | None":
    """The current span."""
    return _current.get()


def failed(kind: str) -> None:
    """Mark the current span as failed."""
    if (opened := _current.get()) is not None:
        opened.fail(kind)


def traceparent() -> str:
    """The current span as a W3C header; empty if there is none."""
    opened = _current.get()
    return "" if opened is None else opened.traceparent


def ids_for_logs() -> Mapping[str, str]:
    """The id of the current trace for log lines; empty if it is not recorded."""
    opened = _current.get()
    return {} if opened is None or not opened.sampled else {"trace": opened.trace_id}


def exemplar() -> dict[str, str] | None:
    """Labels that connect an observation of a histogram with the current trace; None if it is not recorded."""
    opened = _current.get()
    return None if opened is None or not opened.sampled else {"trace_id": opened.trace_id, "span_id": opened.span_id}


def same_trace(first: str, second: str) -> bool:
    """Whether two `traceparent` are well-formed and belong to one trace."""
    left, right = _WELL_FORMED.fullmatch(first), _WELL_FORMED.fullmatch(second)
    return left is not None and right is not None and left["trace"] == right["trace"]
