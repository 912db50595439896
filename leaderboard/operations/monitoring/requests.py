"""How long requests take, by view and method: measured in the process that answers them."""

import time
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from prometheus_client import Histogram

from gpu_jobs.tracing.spans import exemplar
from leaderboard.operations.monitoring.connections import POOL
from leaderboard.operations.monitoring.registry import REGISTRY

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

LATENCY = Histogram(
    "planarena_request_seconds",
    "Time from the arrival of a request to the beginning of its response.",
    labelnames=["view", "method"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0),
    registry=REGISTRY,
)


def measure_requests(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Middleware that notes how long each request took. The outermost, so that the others count too."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        started = time.perf_counter()
        response: HttpResponseBase = get_response(request)
        _note(request=request, seconds=time.perf_counter() - started)
        return response

    return answer


def _note(*, request: HttpRequest, seconds: float) -> None:
    # Nothing that a stranger makes up may become a label: each would be kept for ever.
    view = (request.resolver_match.view_name if request.resolver_match else "") or "none"
    POOL.look()
    method = request.method if request.method in _METHODS else "other"
    LATENCY.labels(view=view, method=method).observe(seconds, exemplar())
