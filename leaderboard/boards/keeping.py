"""A bounded memory of this process for what is dear to make and never changes under its key."""

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Any, Generic, TypeVar
from weakref import WeakSet

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
_memories: "WeakSet[Kept[Any, Any]]" = WeakSet()


def forget_all() -> None:
    """Forget everything that this process keeps, as if it had just been started."""
    for memory in list(_memories):
        memory.clear()


class Kept(Generic[Key, Value]):
    """The values that were used last, at most `most` of them. Requests in several threads share it."""

    def __init__(self, *, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._lock = Lock()
        _memories.add(self)

    def get(self, key: Key) -> Value | None:
        """The value, which thereby was used last; None if it is not there."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key]

    def put(self, key: Key, value: Value) -> None:
        """Keep a value, and forget what was used longest ago if there are too many."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self._most:
                self._values.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._values.clear()
