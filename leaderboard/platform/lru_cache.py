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
    """Empty every cache of this process, as if it had just been started."""
    for cache in list(_caches):
        cache.clear()


class Mark:
    """Stands in keys for values that are large or cannot be hashed. Equal only to itself."""


class SharedCache(Generic[Key, Value]):
    """A `cachetools.LRUCache` behind a lock, of at most `maxsize` values, or of that size if `size_of` gives one."""

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

    def drop(self, key: Key) -> None:
        """Forget a value, if it is cached."""
        with self._lock:
            self._values.pop(key, None)

    def get_or_make(self, key: Key, make: Callable[[], Value]) -> Value:
        """The cached value, made now if it is missing. Two threads may make the same value at once.

        `make` must not return None.
        """
        if (found := self.get(key)) is None:
            found = make()
            self.put(key, found)
        return found

    def clear(self) -> None:
        """Empty the cache."""
        with self._lock:
            self._values.clear()
