"""The functions of a connection to SQLite, and MySQL's aggregate functions that SQLite lacks, with bounded memory."""

import math
import random
import sqlite3
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from evaluator.lumos.sql import collation
from evaluator.lumos.sql.functions.scalars import BUILT_IN, LENIENT, STRICT, text_of
from evaluator.lumos.sql.outcome import Cell, Failure, Reason, StatementError

LONGEST_GROUP_CONCAT = 1024
"""Maximum length of GROUP_CONCAT in characters, MySQL's default of `group_concat_max_len`; the rest is truncated."""
_BYTES_OF_A_VALUE = 100


class Aggregate(Protocol):
    """The interface of SQLite's aggregate functions."""

    stored: int
    """Approximate size of the stored values, in bytes."""

    def step(self, *values: Any) -> None:
        """Add a row."""
        ...

    def finalize(self) -> Cell:
        """The value of the group."""
        ...


class _Variance:
    """Population variance, by Welford's algorithm. Ignores NULL."""

    def __init__(self) -> None:
        self.count, self.mean, self.squares = 0, 0.0, 0.0
        self.stored = 0

    def step(self, *values: Any) -> None:
        (value,) = values
        try:
            number = float(value) if value is not None else math.nan
        except ValueError:
            number = 0.0
        if math.isfinite(number):
            self.count += 1
            difference = number - self.mean
            self.mean += difference / self.count
            self.squares += difference * (number - self.mean)

    def finalize(self) -> Cell:
        return self.squares / self.count if self.count else None


class _SampleVariance(_Variance):
    def finalize(self) -> Cell:
        return self.squares / (self.count - 1) if self.count > 1 else None


class _Deviation(_Variance):
    def finalize(self) -> Cell:
        return math.sqrt(self.squares / self.count) if self.count else None


class _SampleDeviation(_Variance):
    def finalize(self) -> Cell:
        return math.sqrt(self.squares / (self.count - 1)) if self.count > 1 else None


class _GroupConcat:
    """MY_GROUP_CONCAT(is distinct, separator, value, [key, is descending]...), called with constants first."""

    def __init__(self) -> None:
        self.items: list[tuple[str, tuple[Cell, ...]]] = []
        self.seen: set[str] = set()
        self.stored = 0
        self.separator = ","
        self.descending: tuple[bool, ...] = ()

    def step(self, *values: Any) -> None:
        distinct, separator, value, *order = values
        if value is None:
            return
        self.separator, self.descending = str(separator), tuple(map(bool, order[1::2]))
        text = text_of(value)[:LONGEST_GROUP_CONCAT]
        key = collation.key(text)
        if distinct and key in self.seen:
            return
        if distinct:
            self.seen.add(key)
            self.stored += _size(key)
        if order or len(self.items) < LONGEST_GROUP_CONCAT:
            item = (text, tuple(order[0::2]))
            self.items.append(item)
            self.stored += _item_size(item)
        if len(self.items) > 4 * LONGEST_GROUP_CONCAT:
            # Items beyond the maximum length would be truncated anyway.
            self.items = self._sorted()[:LONGEST_GROUP_CONCAT]
            self.seen = {collation.key(text) for text, _ in self.items} if distinct else set()
            self.stored = sum(map(_item_size, self.items)) + sum(map(_size, self.seen))

    def finalize(self) -> Cell:
        if not self.items:
            return None
        return self.separator.join(text for text, _ in self._sorted())[:LONGEST_GROUP_CONCAT]

    def _sorted(self) -> list[tuple[str, tuple[Cell, ...]]]:
        items = self.items
        for place, descending in reversed(list(enumerate(self.descending))):
            items = sorted(items, key=lambda item: _rank(item[1][place]), reverse=descending)
        return items


def _size(value: Cell) -> int:
    """Upper bound of a value's size in memory, in bytes."""
    return 4 * len(value) + _BYTES_OF_A_VALUE if isinstance(value, str) else _BYTES_OF_A_VALUE


def _item_size(item: tuple[str, tuple[Cell, ...]]) -> int:
    """Size of an item and of its sort keys, in bytes."""
    text, order = item
    return _size(text) + 2 * sum(map(_size, order))


def _rank(value: Cell) -> tuple[int, float, str]:
    """Sorts NULL first, then numbers, then texts."""
    if value is None:
        return 0, 0.0, ""
    return (1, float(value), "") if isinstance(value, int | float) else (2, 0.0, collation.key(str(value)))


AGGREGATES: Mapping[str, tuple[int, type[Aggregate]]] = {
    "VARIANCE": (1, _Variance),
    "VAR_POP": (1, _Variance),
    "VAR_SAMP": (1, _SampleVariance),
    "STD": (1, _Deviation),
    "STDDEV": (1, _Deviation),
    "STDDEV_POP": (1, _Deviation),
    "STDDEV_SAMP": (1, _SampleDeviation),
    "MY_GROUP_CONCAT": (-1, _GroupConcat),
}
"""Number of arguments and class, by name."""


_OF_SESSION = frozenset({"RAND", "DATABASE", "SCHEMA", "VERSION"})
AUTHORISED = BUILT_IN | set(STRICT) | set(LENIENT) | set(AGGREGATES) | _OF_SESSION | {"LIKE"}
"""Functions that SQLite may call, in upper case."""
CALLABLE = frozenset(name for name in AUTHORISED if not name.startswith("MY_")) - {"LIKE"} | {
    "MY_NOW", "MY_TODAY", "MY_TIME",
}  # fmt: skip
"""Functions that a statement may call, directly or by a synonym."""
_CHARACTERS_OF_A_CALL = 1_000
"""Number of characters whose processing costs as much as a call."""


def _strict(function: Callable[..., Cell]) -> Callable[..., Cell]:
    """NULL if any argument is NULL."""

    def of(*values: Cell) -> Cell:
        return None if any(value is None for value in values) else function(*values)

    return of


class Session:
    """State of a connection's functions: limits, the reason of a failure, and the generator of RAND."""

    def __init__(self, *, database: str, most_calls: int, most_bytes: int) -> None:
        """Args:
        database: name of the database.
        most_calls: maximum number of calls of Python functions.
        most_bytes: maximum size of the values stored by aggregate functions.
        """
        self.database = database
        self._most_calls, self._most_bytes = most_calls, most_bytes
        self._stored = 0
        self.failure: Failure | None = None
        self.calls = 0
        """Calls of Python functions, which take far longer than a step of SQLite's virtual machine."""
        self._random = random.Random(0)  # noqa: S311

    @property
    def is_exhausted(self) -> bool:
        """Whether the statement exceeded the number of calls. Its result is then invalid."""
        return self.calls > self._most_calls

    def install(self, connection: sqlite3.Connection) -> None:
        """Define all functions on a connection."""
        connection.create_collation(collation.NAME, self._compare)
        for name, (count, function) in STRICT.items():
            connection.create_function(name, count, self._guarded(name, _strict(function)), deterministic=True)
        for name, (count, function) in LENIENT.items():
            connection.create_function(name, count, self._guarded(name, function), deterministic=True)
        for name, (count, aggregate) in AGGREGATES.items():
            connection.create_aggregate(name, count, self._counted(aggregate))
        for name in ("DATABASE", "SCHEMA"):
            connection.create_function(name, 0, lambda: self.database.lower(), deterministic=True)
        connection.create_function("VERSION", 0, lambda: "8.0.32", deterministic=True)
        connection.create_function("RAND", -1, self._rand)

    def _compare(self, left: str, right: str) -> int:
        self.calls += 1
        # SQLite sorts in a single step, which cannot be interrupted; constant comparisons end the sort soon.
        return 0 if self.is_exhausted else collation.compare(left, right)

    def _counted(self, aggregate: type[Aggregate]) -> Callable[[], Any]:
        """An aggregate function whose steps are counted."""
        session = self

        class Counted(aggregate):  # type: ignore[valid-type, misc]
            def step(self, *values: Cell) -> None:
                session.calls += 1
                before = self.stored
                super().step(*values)
                session.count_bytes(self.stored - before)

            def finalize(self) -> Cell:
                value: Cell = super().finalize()
                session.count_bytes(-self.stored)
                return value

        return Counted

    def count_bytes(self, count: int) -> None:
        """Count bytes that an aggregate function stores.

        Raises:
            StatementError: the limit is exceeded.
        """
        self._stored += count
        if self._stored > self._most_bytes:
            most = f"{self._most_bytes // 1024**2} MiB of memory"
            error = StatementError(Reason.TOO_LARGE, f"the values of a group take more than {most}; group less")
            self.failure = error.failure
            raise error

    def _guarded(self, name: str, function: Callable[..., Cell]) -> Callable[..., Cell]:
        """Wraps a function to record why it failed, which SQLite does not report."""

        def call(*values: Cell) -> Cell:
            self.calls += 1 + sum(len(value) for value in values if isinstance(value, str)) // _CHARACTERS_OF_A_CALL
            try:
                result = function(*values)
            except StatementError as error:
                self.failure = error.failure
                raise
            except (TypeError, ValueError, ArithmeticError) as error:
                self.failure = Failure(reason=Reason.FAILED, message=f"{name} cannot take these arguments: {error}")
                raise
            self.calls += len(result) // _CHARACTERS_OF_A_CALL if isinstance(result, str) else 0
            return result

        return call

    def _rand(self, *seed: Cell) -> float:
        """Deterministic: the same numbers in every session."""
        return self._random.random() if not seed else random.Random(text_of(seed[0])).random()  # noqa: S311
