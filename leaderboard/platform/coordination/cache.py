"""Django's cache, shared by all processes of the site: in Redis if configured, otherwise in PostgreSQL.

Rate limits use it, so `add` and `incr` are atomic in both. Values are JSON: nothing is unpickled.
"""

import hashlib
import json
import random
from typing import Any, NamedTuple, Protocol, cast

from django.core.cache import caches
from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache
from django.db import connection

_LONGEST_KEY = 200
_LONGEST_SECONDS = 400 * 86_400
_PRUNE_ONE_IN = 1000


class Counted(NamedTuple):
    """A counter after an increment."""

    value: int
    seconds_left: float
    """Seconds until it expires."""


class CountingCache(Protocol):
    """A cache with counters that expire."""

    def count_up(self, key: str, *, seconds: int) -> Counted:
        """Increment a counter that starts at 0 and expires after so many seconds."""
        ...


def count_up(key: str, *, seconds: int) -> Counted:
    """Increment a counter that all processes share. Atomic. It expires `seconds` after its first increment."""
    return cast(CountingCache, caches["default"]).count_up(key, seconds=seconds)


class PostgresCache(BaseCache):
    """A cache in a table, with one statement per operation, so that concurrent operations never conflict."""

    def __init__(self, location: str, params: dict[str, Any]) -> None:  # noqa: ARG002 - what Django passes to backends
        super().__init__(params)

    def count_up(self, key: str, *, seconds: int) -> Counted:
        """Increment a counter that starts at 0 and expires after so many seconds."""
        _prune_sometimes()
        row = _fetch(
            "INSERT INTO platform_cacheentry AS kept (key, value, expires_at) "
            "VALUES (%s, '1', statement_timestamp() + %s * interval '1 second') ON CONFLICT (key) DO UPDATE SET "
            "value = CASE WHEN kept.expires_at > statement_timestamp() "
            "THEN (kept.value::bigint + 1)::text ELSE '1' END, "
            "expires_at = CASE WHEN kept.expires_at > statement_timestamp() THEN kept.expires_at "
            "ELSE EXCLUDED.expires_at END RETURNING value, extract(epoch FROM expires_at - statement_timestamp())",
            [self._key(key, None), seconds],
        )
        assert row is not None
        return Counted(value=int(row[0]), seconds_left=float(row[1]))

    def add(self, key: str, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        """Store a value unless there is an unexpired one. Returns whether it was stored."""
        _prune_sometimes()
        row = _fetch(
            "INSERT INTO platform_cacheentry AS kept (key, value, expires_at) "
            "VALUES (%s, %s, statement_timestamp() + %s * interval '1 second') ON CONFLICT (key) DO UPDATE SET "
            "value = EXCLUDED.value, expires_at = EXCLUDED.expires_at "
            "WHERE kept.expires_at <= statement_timestamp() RETURNING key",
            [self._key(key, version), json.dumps(value), self._seconds(timeout)],
        )
        return row is not None

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        row = _fetch(
            "SELECT value FROM platform_cacheentry WHERE key = %s AND expires_at > statement_timestamp()",
            [self._key(key, version)],
        )
        return default if row is None else json.loads(row[0])

    def set(self, key: str, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> None:
        """Store a value, replacing any other."""
        _prune_sometimes()
        _fetch(
            "INSERT INTO platform_cacheentry (key, value, expires_at) "
            "VALUES (%s, %s, statement_timestamp() + %s * interval '1 second') ON CONFLICT (key) DO UPDATE SET "
            "value = EXCLUDED.value, expires_at = EXCLUDED.expires_at RETURNING key",
            [self._key(key, version), json.dumps(value), self._seconds(timeout)],
        )

    def touch(self, key: str, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        """Extend the lifetime of a value. Returns whether there was one."""
        row = _fetch(
            "UPDATE platform_cacheentry SET expires_at = statement_timestamp() + %s * interval '1 second' "
            "WHERE key = %s AND expires_at > statement_timestamp() RETURNING key",
            [self._seconds(timeout), self._key(key, version)],
        )
        return row is not None

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        """Add to a stored number.

        Raises:
            ValueError: there is none.
        """
        row = _fetch(
            "UPDATE platform_cacheentry SET value = (value::bigint + %s)::text "
            "WHERE key = %s AND expires_at > statement_timestamp() RETURNING value",
            [delta, self._key(key, version)],
        )
        if row is None:
            raise ValueError(f"There is no {key!r} in the cache.")
        return int(row[0])

    def delete(self, key: str, version: int | None = None) -> bool:
        """Delete a value. Returns whether there was one."""
        row = _fetch("DELETE FROM platform_cacheentry WHERE key = %s RETURNING key", [self._key(key, version)])
        return row is not None

    def clear(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM platform_cacheentry")

    def _key(self, key: str, version: int | None) -> str:
        full = self.make_key(key, version)
        return full if len(full) <= _LONGEST_KEY else f"sha256:{hashlib.sha256(full.encode()).hexdigest()}"

    def _seconds(self, timeout: Any) -> float:
        seconds = self.default_timeout if timeout is DEFAULT_TIMEOUT else timeout
        return _LONGEST_SECONDS if seconds is None else float(seconds)


def prune() -> None:
    """Delete expired entries."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM platform_cacheentry WHERE expires_at <= statement_timestamp()")


def _prune_sometimes() -> None:
    if random.randrange(_PRUNE_ONE_IN) == 0:  # noqa: S311 - no secret
        prune()


def _fetch(statement: str, parameters: list[Any]) -> tuple[Any, ...] | None:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        row: tuple[Any, ...] | None = cursor.fetchone()
        return row
