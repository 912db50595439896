"""The shared cache in Redis. Loaded only where there is one: the client takes as long as a tenth of Django's start."""

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
