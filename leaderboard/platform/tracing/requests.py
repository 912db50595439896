"""A span for each request.

Requests start new traces and ignore `traceparent`, which any client can send. Calls of workers have a span only if they
are authorised for an attempt, in the trace that the site assigned to it.
"""

import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponseBase

from gpu_jobs.logs.lines import also_named, present_ids
from gpu_jobs.tracing import spans
from gpu_jobs.tracing.options import HEADER
from leaderboard.platform.http.one_hop import WORKER_CALLS
from leaderboard.platform.tracing.evaluations import parent_of

if TYPE_CHECKING:
    from gpu_jobs.tracing.exporting import OpenSpan

_UNTRACED = ("/health/", "/metrics", "/static/", "/favicon.ico")
_FREQUENT = frozenset({"heartbeat", "log"})
"""Last path segments of calls that workers repeat every few seconds."""
_IDS = {"evaluation_id": "evaluation", "attempt_id": "attempt"}
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class _WorkerCall:
    """A call of a worker, which gets a span once it is authorised for an attempt."""

    def __init__(self) -> None:
        self.started = time.time_ns()
        self.span: OpenSpan | None = None


_call: ContextVar[_WorkerCall | None] = ContextVar("worker_call", default=None)


def trace_requests(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Middleware that records a span for each request.

    Raises:
        MiddlewareNotUsed: traces are off.
    """
    if not spans.is_on():
        raise MiddlewareNotUsed

    def answer(request: HttpRequest) -> HttpResponseBase:
        span = _begin(request)
        response: HttpResponseBase | None = None
        try:
            response = get_response(request)
            return response
        finally:
            _end(span, request=request, response=response)

    return answer


def trace_attempt_call(*, attempt: UUID, worker: str, request: HttpRequest) -> None:
    """Start the span of an authorised call of an attempt, in the attempt's trace."""
    call = _call.get()
    if call is None or request.path.rstrip("/").rpartition("/")[2] in _FREQUENT:
        return
    if parent := parent_of(attempt, offered=request.headers.get(HEADER, "")):
        ids = {"attempt": str(attempt), "worker": worker}
        call.span = spans.start("call", kind="server", parent=parent, started=call.started, attributes=ids)
        _enter(call.span)


def _begin(request: HttpRequest) -> "OpenSpan | _WorkerCall | None":
    if request.path.startswith(WORKER_CALLS):
        call = _WorkerCall()
        _call.set(call)
        return call
    if request.path.startswith(_UNTRACED):
        return None
    span = spans.start("request", kind="server", parent="")
    _enter(span)
    return span


def _enter(span: "OpenSpan | None") -> None:
    spans.enter(span)
    also_named(**spans.ids_for_logs())


def _end(span: "OpenSpan | _WorkerCall | None", *, request: HttpRequest, response: HttpResponseBase | None) -> None:
    if isinstance(span, _WorkerCall):
        _call.set(None)
        span = span.span
    spans.enter(None)
    if span is None:
        return
    match, method = request.resolver_match, request.method if request.method in _METHODS else "_OTHER"
    span.rename(f"{method} {(match.view_name if match else '') or 'none'}")
    status = 500 if response is None else response.status_code
    arguments = match.kwargs if match else {}
    span.note({name: str(arguments[argument]) for argument, name in _IDS.items() if argument in arguments})
    # The route, not the path, which may contain secrets, such as the key of a password reset.
    attributes = {"http.request.method": method, "http.route": f"/{match.route}" if match else ""}
    span.note({**attributes, "http.response.status_code": status, "request": present_ids().get("request", "")})
    if status >= 500:
        span.fail(str(status))
    span.end()
