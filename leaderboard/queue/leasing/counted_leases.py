"""How many leases everybody has had, without counting all of them for each lease.

A site that ends eighty shards a second has fifty thousand leases within the time of fair shares. Each process counts
the older ones every few seconds and keeps the sums; what has come since is counted with every lease. So new leases
count at once, in all processes, and old ones stop to count a few seconds late.
"""

import time
from datetime import datetime
from threading import Lock
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connection

_COUNT = """
SELECT STATEMENT_TIMESTAMP() - %(settled)s * interval '1 second', (
    SELECT coalesce(jsonb_agg(counted), '[]') FROM (
        SELECT user_id, team_id, count(*) AS leases FROM evaluations_attempt
        WHERE (state = 'live' OR leased_at >= STATEMENT_TIMESTAMP() - %(share_seconds)s * interval '1 second')
              AND leased_at < STATEMENT_TIMESTAMP() - %(settled)s * interval '1 second'
        GROUP BY user_id, team_id
    ) counted
)::text
"""
_SETTLED_SECONDS = 5
"""After so long the transaction of a lease has ended, so that everybody sees it."""
EVERY = "state = 'live' OR leased_at >= STATEMENT_TIMESTAMP() - %(share_seconds)s * interval '1 second'"
"""A condition on all attempts that count."""
SINCE = "leased_at >= %(counted_until)s"
"""A condition on those that no sum contains."""


class _Sums(NamedTuple):
    until: datetime
    """By the database's clock: leases before this are in the sums."""
    sums: str
    """`[{"user_id", "team_id", "leases"}]`"""
    at: float
    """`time.monotonic()` of the count."""


class _Kept:
    """The sums of this process."""

    def __init__(self) -> None:
        self._sums: _Sums | None = None
        self._lock = Lock()

    def get(self) -> _Sums:
        with self._lock:
            kept = self._sums
            if kept is None or time.monotonic() - kept.at >= settings.FAIR_SHARE_RECOUNT_SECONDS:
                kept = self._sums = _count()
            return kept

    def forget(self) -> None:
        with self._lock:
            self._sums = None


_kept = _Kept()
forget = _kept.forget


def parameters() -> dict[str, Any]:
    """What the statement of turns needs beside its conditions: sums, and until when they count."""
    if not settings.FAIR_SHARE_RECOUNT_SECONDS:
        return {"counted": "[]"}
    kept = _kept.get()
    return {"counted": kept.sums, "counted_until": kept.until}


def condition() -> str:
    """On the attempts that the statement itself counts."""
    return SINCE if settings.FAIR_SHARE_RECOUNT_SECONDS else EVERY


def _count() -> _Sums:
    with connection.cursor() as cursor:
        given = {"settled": _SETTLED_SECONDS, "share_seconds": settings.FAIR_SHARE_SECONDS}
        cursor.execute(_COUNT, given)
        until, sums = cursor.fetchone()
    return _Sums(until=until, sums=sums, at=time.monotonic())
