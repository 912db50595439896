"""Spans of the work of a process.

Nothing of OpenTelemetry is imported unless OTEL_EXPORTER_OTLP_ENDPOINT names a collector. The current span is kept here
and not in OpenTelemetry's own context: from there libraries would add it to calls of strangers' servers.
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
    """Export what waits: this process ends without the functions of `atexit`."""
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
    """Begin a span, which does not become the current one; None where traces are off.

    Args:
        name: of what is done; one of few.
        kind: its part in a conversation.
        parent: `traceparent` of the span that it belongs to; None: the current one, if there is one; empty or
            malformed: none, so that a trace begins.
        link: `traceparent` of a span of another trace that led to it.
        started: nanoseconds since 1970; None: now.
        attributes: ids and sizes, of PlanArena or, with a dot in their names, of OpenTelemetry's conventions. Never
            what users, planners or the database said.
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
    """The current span until the context is left. Arguments as for `start`."""
    begun = start(name, kind=kind, parent=parent, link=link, started=started, attributes=attributes)
    return _OFF if begun is None else _inside(begun)


@contextmanager
def _inside(begun: "OpenSpan") -> Iterator[None]:
    before = _current.get()
    _current.set(begun)
    try:
        yield
    except BaseException as error:
        # Not its message, which may quote anything.
        begun.fail(type(error).__name__)
        raise
    finally:
        _current.set(before)
        begun.end()


def enter(begun: "OpenSpan | None") -> None:
    """Make a span, or none, the current one of this context."""
    _current.set(begun)


def current() -> "OpenSpan | None":
    """The current span."""
    return _current.get()


def failed(kind: str) -> None:
    """What the current span is about failed, in this way."""
    if (begun := _current.get()) is not None:
        begun.fail(kind)


def traceparent() -> str:
    """The current span as W3C's header names it; empty if there is none."""
    begun = _current.get()
    return "" if begun is None else begun.traceparent


def ids_for_logs() -> Mapping[str, str]:
    """The id of the current trace, as an id of log lines; nothing if it is not recorded."""
    begun = _current.get()
    return {} if begun is None or not begun.sampled else {"trace": begun.trace_id}


def exemplar() -> dict[str, str] | None:
    """Labels that connect an observation of a histogram with the current trace; None if it is not recorded."""
    begun = _current.get()
    return None if begun is None or not begun.sampled else {"trace_id": begun.trace_id, "span_id": begun.span_id}


def same_trace(one: str, other: str) -> bool:
    """Whether two `traceparent` are well-formed and of one trace."""
    mine, others = _WELL_FORMED.fullmatch(one), _WELL_FORMED.fullmatch(other)
    return mine is not None and others is not None and mine["trace"] == others["trace"]
