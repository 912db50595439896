"""Metrics of the web process: latency of requests, and the pool of database connections."""

import os
import threading
import time
from collections.abc import Callable
from typing import Any

from django.db import connection
from django.http import HttpRequest, HttpResponseBase
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.multiprocess import MultiProcessCollector

from gpu_jobs.tracing.spans import exemplar

_SEVERAL_PROCESSES = "PROMETHEUS_MULTIPROC_DIR"
_AGAIN_SECONDS = 1.0
REGISTRY = CollectorRegistry()
"""Metrics of this process."""
_connections = Gauge(
    "planarena_database_connections",
    "Connections of the pool, by whether a request has one.",
    labelnames=["state"],
    multiprocess_mode="livesum",
    registry=REGISTRY,
)
_most = Gauge(
    "planarena_database_connections_max",
    "Maximum number of connections of the pool.",
    multiprocess_mode="livesum",
    registry=REGISTRY,
)
_waiting = Gauge(
    "planarena_database_waiting",
    "Requests that wait for a connection of the pool.",
    multiprocess_mode="livesum",
    registry=REGISTRY,
)
_waited = Counter(
    "planarena_database_wait_seconds", "Time that requests waited for a connection of the pool.", registry=REGISTRY
)
_timeouts = Counter(
    "planarena_database_timeouts", "Requests that timed out waiting for a connection of the pool.", registry=REGISTRY
)


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

LATENCY = Histogram(
    "planarena_request_seconds",
    "Time from the arrival of a request to the beginning of its response.",
    labelnames=["view", "method"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0),
    registry=REGISTRY,
)


def measured() -> CollectorRegistry:
    """The metrics of this process, or of all processes that share the folder PROMETHEUS_MULTIPROC_DIR."""
    if not os.environ.get(_SEVERAL_PROCESSES):
        return REGISTRY
    shared = CollectorRegistry()
    MultiProcessCollector(shared)
    return shared


class PoolWatch:
    """Measures the connection pool of this process."""

    def __init__(self) -> None:
        self._due = float("-inf")
        self._before: dict[str, int] = {}
        self._lock = threading.Lock()

    def look(self) -> None:
        """Measure the pool, if any, at most once per second."""
        now = time.monotonic()
        if now < self._due or (pool := connection.pool) is None:  # type: ignore[attr-defined]  # only PostgreSQL's
            return
        with self._lock:
            self._due = now + _AGAIN_SECONDS
            self.note(pool.get_stats())

    def note(self, stats: dict[str, int]) -> None:
        """Record the statistics of `psycopg_pool`, which omit zeros."""
        size, idle = stats.get("pool_size", 0), stats.get("pool_available", 0)
        _connections.labels(state="idle").set(idle)
        _connections.labels(state="used").set(max(0, size - idle))
        _most.set(stats.get("pool_max", 0))
        _waiting.set(stats.get("requests_waiting", 0))
        _waited.inc(self._more("requests_wait_ms", stats) / 1000)
        _timeouts.inc(self._more("requests_errors", stats))

    def _more(self, name: str, stats: dict[str, Any]) -> int:
        count = int(stats.get(name, 0))
        more = count - self._before.get(name, 0)
        self._before[name] = count
        # A reopened pool counts from 0.
        return max(0, more)


POOL = PoolWatch()


def measure_requests(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Middleware that measures the latency of requests. The outermost, so that it includes all other middleware."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        started = time.perf_counter()
        response: HttpResponseBase = get_response(request)
        seconds = time.perf_counter() - started
        POOL.look()
        # Labels never contain client input, because each distinct label is a permanent series.
        view = (request.resolver_match.view_name if request.resolver_match else "") or "none"
        method = request.method if request.method in _METHODS else "other"
        LATENCY.labels(view=view, method=method).observe(seconds, exemplar())
        return response

    return answer
