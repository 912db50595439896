"""In-process LRU caches, shared by all threads, for values that never change under their key."""

from collections.abc import Callable, Hashable, Iterable
from threading import Lock
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from cachetools import LRUCache

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
_caches: "WeakSet[SharedCache[Any, Any]]" = WeakSet()


def clear_all() -> None:
    """Empty every cache of this process."""
    for cache in list(_caches):
        cache.clear()


class Mark:
    """Represents a large or unhashable value in cache keys. Equal only to itself."""


class SharedCache(Generic[Key, Value]):
    """A `cachetools.LRUCache` behind a lock, of at most `maxsize` values, or of that total size by `size_of`."""

    def __init__(self, *, maxsize: int, size_of: Callable[[Value], int] | None = None) -> None:
        self._values: LRUCache[Key, Value] = LRUCache(maxsize=maxsize, getsizeof=size_of)
        self._lock = Lock()
        _caches.add(self)

    def get(self, key: Key) -> Value | None:
        """The cached value, or None. Marks it as the most recently used."""
        with self._lock:
            return self._values.get(key)

    def get_all(self, keys: Iterable[Key]) -> list[Value | None]:
        """`get` of each key."""
        with self._lock:
            return [self._values.get(key) for key in keys]

    def put(self, key: Key, value: Value) -> None:
        """Cache a value; evicts the least recently used one if the cache is full."""
        with self._lock:
            self._values[key] = value

    def get_or_make(self, key: Key, make: Callable[[], Value]) -> Value:
        """The cached value, or a new one from `make`, which must not return None. Two threads may compute the same
        value concurrently."""
        if (value := self.get(key)) is None:
            value = make()
            self.put(key, value)
        return value

    def clear(self) -> None:
        """Empty the cache."""
        with self._lock:
            self._values.clear()
