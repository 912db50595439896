"""The pool of database connections of the process that answers requests."""

import threading
import time
from typing import Any

from django.db import connection
from prometheus_client import Counter, Gauge

from leaderboard.operations.monitoring.registry import REGISTRY

_AGAIN_SECONDS = 1.0
_connections = Gauge(
    "planarena_database_connections",
    "Connections of the pool, by whether a request has one.",
    labelnames=["state"],
    multiprocess_mode="livesum",
    registry=REGISTRY,
)
_most = Gauge(
    "planarena_database_connections_max",
    "The most connections that the pool opens.",
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
    "planarena_database_timeouts", "Requests that waited for a connection of the pool in vain.", registry=REGISTRY
)


class PoolWatch:
    """Measures the pool of this process now and then."""

    def __init__(self) -> None:
        self._due = float("-inf")
        self._before: dict[str, int] = {}
        self._lock = threading.Lock()

    def look(self) -> None:
        """Measure the pool, at most once a second. Without a pool it does nothing."""
        now = time.monotonic()
        if now < self._due or (pool := connection.pool) is None:  # type: ignore[attr-defined]  # PostgreSQL's alone
            return
        with self._lock:
            self._due = now + _AGAIN_SECONDS
            self.note(pool.get_stats())

    def note(self, stats: dict[str, int]) -> None:
        """Show what `psycopg_pool` says of a pool; it leaves out what is 0."""
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
        # A pool that was opened again counts from 0.
        return max(0, more)


POOL = PoolWatch()
"""That of this process."""
