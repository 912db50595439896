"""Django's cache, shared by all processes of the site: in Redis where there is one, otherwise in PostgreSQL.

Rate limits live here, so `add` and `incr` are atomic in both. Values are JSON: nothing is unpickled.
"""

import hashlib
import json
import logging
import random
from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any, NamedTuple, TypeVar

import redis
from django.core.cache import caches
from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache
from django.core.cache.backends.redis import RedisCache
from django.db import connection

logger = logging.getLogger(__name__)

_LONGEST_KEY = 200
_LONGEST_SECONDS = 400 * 86_400
_PRUNE_ONE_IN = 1000
_Answer = TypeVar("_Answer")


class Counted(NamedTuple):
    """A counter that was counted up."""

    value: int
    seconds_left: float
    """Until it begins again at 0."""


def count_up(key: str, *, seconds: int) -> Counted:
    """Add one to a counter that all processes share. Atomic.

    Args:
        key: of the counter.
        seconds: how long it lives after its first count.
    """
    backend = caches["default"]
    assert isinstance(backend, PostgresCache | SharedRedisCache)
    return backend.count_up(key, seconds=seconds)


class PostgresCache(BaseCache):
    """A cache in a table. One statement for each operation, so that concurrent ones never overwrite each other."""

    def __init__(self, location: str, params: dict[str, Any]) -> None:  # noqa: ARG002 - what Django passes to backends
        super().__init__(params)

    def count_up(self, key: str, *, seconds: int) -> Counted:
        """Add one to a counter that begins at 0 and lives so many seconds."""
        _prune_sometimes()
        row = _fetch(
            "INSERT INTO coordination_cacheentry AS kept (key, value, expires_at) "
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
        """Keep a value unless there is one that has not expired; says whether it was kept."""
        _prune_sometimes()
        row = _fetch(
            "INSERT INTO coordination_cacheentry AS kept (key, value, expires_at) "
            "VALUES (%s, %s, statement_timestamp() + %s * interval '1 second') ON CONFLICT (key) DO UPDATE SET "
            "value = EXCLUDED.value, expires_at = EXCLUDED.expires_at "
            "WHERE kept.expires_at <= statement_timestamp() RETURNING key",
            [self._key(key, version), json.dumps(value), self._seconds(timeout)],
        )
        return row is not None

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        """The value of a key."""
        row = _fetch(
            "SELECT value FROM coordination_cacheentry WHERE key = %s AND expires_at > statement_timestamp()",
            [self._key(key, version)],
        )
        return default if row is None else json.loads(row[0])

    def set(self, key: str, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> None:
        """Keep a value, whatever was there."""
        _prune_sometimes()
        _fetch(
            "INSERT INTO coordination_cacheentry (key, value, expires_at) "
            "VALUES (%s, %s, statement_timestamp() + %s * interval '1 second') ON CONFLICT (key) DO UPDATE SET "
            "value = EXCLUDED.value, expires_at = EXCLUDED.expires_at RETURNING key",
            [self._key(key, version), json.dumps(value), self._seconds(timeout)],
        )

    def touch(self, key: str, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        """Let a value live on; says whether there was one."""
        row = _fetch(
            "UPDATE coordination_cacheentry SET expires_at = statement_timestamp() + %s * interval '1 second' "
            "WHERE key = %s AND expires_at > statement_timestamp() RETURNING key",
            [self._seconds(timeout), self._key(key, version)],
        )
        return row is not None

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        """Add to a number that is there.

        Raises:
            ValueError: there is none.
        """
        row = _fetch(
            "UPDATE coordination_cacheentry SET value = (value::bigint + %s)::text "
            "WHERE key = %s AND expires_at > statement_timestamp() RETURNING value",
            [delta, self._key(key, version)],
        )
        if row is None:
            raise ValueError(f"There is no {key!r} in the cache.")
        return int(row[0])

    def delete(self, key: str, version: int | None = None) -> bool:
        """Remove a value; says whether there was one."""
        row = _fetch("DELETE FROM coordination_cacheentry WHERE key = %s RETURNING key", [self._key(key, version)])
        return row is not None

    def clear(self) -> None:
        """Remove everything."""
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM coordination_cacheentry")

    def _key(self, key: str, version: int | None) -> str:
        made = self.make_key(key, version)
        return made if len(made) <= _LONGEST_KEY else f"sha256:{hashlib.sha256(made.encode()).hexdigest()}"

    def _seconds(self, timeout: Any) -> float:
        seconds = self.default_timeout if timeout is DEFAULT_TIMEOUT else timeout
        return _LONGEST_SECONDS if seconds is None else float(seconds)


class JsonSerializer:
    """How `RedisCache` writes values. Numbers stay as they are, so that Redis can count with them."""

    def dumps(self, value: Any) -> bytes:
        """A value as bytes."""
        return json.dumps(value).encode()

    def loads(self, data: bytes) -> Any:
        """The value of these bytes."""
        return json.loads(data)


def _or_postgres(method: Callable[..., _Answer]) -> Callable[..., _Answer]:
    """A method of a cache in Redis that asks PostgreSQL where Redis cannot be reached."""

    @wraps(method)
    def either(self: "SharedRedisCache", *args: Any, **kwargs: Any) -> _Answer:
        try:
            return method(self, *args, **kwargs)
        except redis.RedisError as error:
            logger.warning("the cache in Redis cannot be reached (%s); PostgreSQL is used instead", error)
            answer: _Answer = getattr(self.instead, method.__name__)(*args, **kwargs)
            return answer

    return either


class SharedRedisCache(RedisCache):
    """Redis, and PostgreSQL while Redis cannot be reached: limits hold, and pages work, without it."""

    add = _or_postgres(RedisCache.add)
    get = _or_postgres(RedisCache.get)
    set = _or_postgres(RedisCache.set)
    touch = _or_postgres(RedisCache.touch)
    incr = _or_postgres(RedisCache.incr)
    delete = _or_postgres(RedisCache.delete)

    @cached_property
    def instead(self) -> PostgresCache:
        """What is used while Redis is away."""
        return PostgresCache("", {"TIMEOUT": self.default_timeout, "KEY_PREFIX": self.key_prefix})

    @_or_postgres
    def count_up(self, key: str, *, seconds: int) -> Counted:
        """Add one to a counter that begins at 0 and lives so many seconds."""
        made = self.make_and_validate_key(key)
        pipeline = self._cache.get_client(made, write=True).pipeline(transaction=True)
        pipeline.set(made, 0, ex=seconds, nx=True)
        pipeline.incr(made)
        pipeline.pttl(made)
        _, value, milliseconds = pipeline.execute()
        return Counted(value=int(value), seconds_left=max(0, milliseconds) / 1000)

    def clear(self) -> None:
        """Remove the site's entries. Not the whole database: Celery's messages may be in it."""
        client = self._cache.get_client(write=True)
        for key in client.scan_iter(match=f"{self.key_prefix}:*"):
            client.delete(key)


def prune() -> None:
    """Delete entries that have expired."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM coordination_cacheentry WHERE expires_at <= statement_timestamp()")


def _prune_sometimes() -> None:
    if random.randrange(_PRUNE_ONE_IN) == 0:  # noqa: S311 - no secret
        prune()


def _fetch(statement: str, parameters: list[Any]) -> tuple[Any, ...] | None:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        row: tuple[Any, ...] | None = cursor.fetchone()
        return row
