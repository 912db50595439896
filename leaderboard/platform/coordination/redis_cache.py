"""The shared cache in Redis. Loaded only if configured: importing the client takes a tenth of Django's start-up
time."""

import json
import logging
from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any, TypeVar

import redis
from django.core.cache.backends.redis import RedisCache

from leaderboard.platform.coordination.cache import Counted, PostgresCache

logger = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")


class JsonSerializer:
    """Serializer of `RedisCache`. Numbers are stored as text, so that Redis can increment them."""

    def dumps(self, value: Any) -> bytes:
        return json.dumps(value).encode()

    def loads(self, data: bytes) -> Any:
        return json.loads(data)


def _or_postgres(method: Callable[..., _Answer]) -> Callable[..., _Answer]:
    """Decorator of methods that falls back to PostgreSQL if Redis cannot be reached."""

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
    """Redis, with PostgreSQL as the fallback while Redis cannot be reached, so that limits hold and pages work."""

    add = _or_postgres(RedisCache.add)
    get = _or_postgres(RedisCache.get)
    set = _or_postgres(RedisCache.set)
    touch = _or_postgres(RedisCache.touch)
    incr = _or_postgres(RedisCache.incr)
    delete = _or_postgres(RedisCache.delete)

    @cached_property
    def instead(self) -> PostgresCache:
        return PostgresCache("", {"TIMEOUT": self.default_timeout, "KEY_PREFIX": self.key_prefix})

    @_or_postgres
    def count_up(self, key: str, *, seconds: int) -> Counted:
        """Increment a counter that starts at 0 and expires after so many seconds."""
        key = self.make_and_validate_key(key)
        pipeline = self._cache.get_client(key, write=True).pipeline(transaction=True)
        pipeline.set(key, 0, ex=seconds, nx=True)
        pipeline.incr(key)
        pipeline.pttl(key)
        _, value, milliseconds = pipeline.execute()
        return Counted(value=int(value), seconds_left=max(0, milliseconds) / 1000)

    def clear(self) -> None:
        """Delete the site's entries, but not the whole database, which may contain Celery's messages."""
        client = self._cache.get_client(write=True)
        for key in client.scan_iter(match=f"{self.key_prefix}:*"):
            client.delete(key)
