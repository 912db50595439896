"""The functions of one connection to SQLite, and MySQL's aggregate functions that SQLite lacks, in bounded memory."""

import math
import random
import sqlite3
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from evaluator.lumos.sql import collation
from evaluator.lumos.sql.functions.scalars import BUILT_IN, LENIENT, STRICT, text_of
from evaluator.lumos.sql.outcome import Cell, Failure, Reason, StatementError

LONGEST_GROUP_CONCAT = 1024
"""Characters of GROUP_CONCAT, as with MySQL's default of `group_concat_max_len`; the rest is cut off."""
_BYTES_OF_A_VALUE = 100


class Aggregate(Protocol):
    """What SQLite calls for each row of a group, and at its end."""

    kept: int
    """Bytes of the values that it keeps, about."""

    def step(self, *values: Any) -> None:
        """One row."""
        ...

    def finalize(self) -> Cell:
        """The value of the group."""
        ...


class _Variance:
    """Welford's algorithm; NULLs and texts that are no numbers do not count."""

    def __init__(self) -> None:
        self.count, self.mean, self.squares = 0, 0.0, 0.0
        self.kept = 0

    def step(self, *values: Any) -> None:
        """One row."""
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
        """Of the population."""
        return self.squares / self.count if self.count else None


class _SampleVariance(_Variance):
    def finalize(self) -> Cell:
        """Of the sample."""
        return self.squares / (self.count - 1) if self.count > 1 else None


class _Deviation(_Variance):
    def finalize(self) -> Cell:
        """Of the population."""
        return math.sqrt(self.squares / self.count) if self.count else None


class _SampleDeviation(_Variance):
    def finalize(self) -> Cell:
        """Of the sample."""
        return math.sqrt(self.squares / (self.count - 1)) if self.count > 1 else None


class _GroupConcat:
    """MY_GROUP_CONCAT(is distinct, separator, value, [key, is descending]...), called with constants first."""

    def __init__(self) -> None:
        self.items: list[tuple[str, tuple[Cell, ...]]] = []
        self.seen: set[str] = set()
        self.kept = 0
        self.separator = ","
        self.descending: tuple[bool, ...] = ()

    def step(self, *values: Any) -> None:
        """One row."""
        distinct, separator, value, *order = values
        if value is None:
            return
        self.separator, self.descending = str(separator), tuple(map(bool, order[1::2]))
        text = (
            str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else str(value)
        )[:LONGEST_GROUP_CONCAT]
        key = collation.key(text)
        if distinct and key in self.seen:
            return
        if distinct:
            self.seen.add(key)
            self.kept += _size(key)
        if order or len(self.items) < LONGEST_GROUP_CONCAT:
            item = (text, tuple(order[0::2]))
            self.items.append(item)
            self.kept += _item_size(item)
        if len(self.items) > 4 * LONGEST_GROUP_CONCAT:
            # Whatever sorts behind so many is cut off anyway.
            self.items = self._sorted()[:LONGEST_GROUP_CONCAT]
            self.seen = {collation.key(text) for text, _ in self.items} if distinct else set()
            self.kept = sum(map(_item_size, self.items)) + sum(map(_size, self.seen))

    def finalize(self) -> Cell:
        """NULL for no rows."""
        if not self.items:
            return None
        return self.separator.join(text for text, _ in self._sorted())[:LONGEST_GROUP_CONCAT]

    def _sorted(self) -> list[tuple[str, tuple[Cell, ...]]]:
        items = self.items
        for place, descending in reversed(list(enumerate(self.descending))):
            items = sorted(items, key=lambda item: _rank(item[1][place]), reverse=descending)
        return items


def _size(value: Cell) -> int:
    """Bytes of a value in memory, at most."""
    return 4 * len(value) + _BYTES_OF_A_VALUE if isinstance(value, str) else _BYTES_OF_A_VALUE


def _item_size(item: tuple[str, tuple[Cell, ...]]) -> int:
    """Bytes of an item, and of the keys that sort it by its values."""
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
"""By name: how many arguments they take, and their class."""


_OF_SESSION = frozenset({"RAND", "DATABASE", "SCHEMA", "VERSION"})
AUTHORISED = BUILT_IN | set(STRICT) | set(LENIENT) | set(AGGREGATES) | _OF_SESSION | {"LIKE"}
"""Functions that SQLite may call, in upper case."""
CALLABLE = frozenset(name for name in AUTHORISED if not name.startswith("MY_")) - {"LIKE"} | {
    "MY_NOW", "MY_TODAY", "MY_TIME",
}  # fmt: skip
"""Functions that a statement may name, or that a name in it stands for."""
_CHARACTERS_OF_A_CALL = 1_000
"""Characters that take as long as a call without any."""


def _strict(function: Callable[..., Cell]) -> Callable[..., Cell]:
    """NULL if any argument is NULL."""

    def of(*values: Cell) -> Cell:
        return None if any(value is None for value in values) else function(*values)

    return of


class Session:
    """What functions of one connection remember: why one of them failed, and the state of RAND."""

    def __init__(self, *, database: str, most_calls: int, most_kept: int) -> None:
        """Args:
        database: its name.
        most_calls: of functions in Python.
        most_kept: bytes of the values that aggregate functions were given, as far as they may keep them.
        """
        self.database = database
        self._most_calls, self._most_kept = most_calls, most_kept
        self._kept = 0
        self.failure: Failure | None = None
        self.calls = 0
        """Of functions in Python: they take far longer than a step of SQLite's machine."""
        self._random = random.Random(0)  # noqa: S311

    @property
    def is_exhausted(self) -> bool:
        """Whether more functions were called than the statement may. What it returns from then on is not its result."""
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
        # SQLite sorts within one step, so nothing can stop it there; comparing nothing ends the sort soon.
        return 0 if self.is_exhausted else collation.compare(left, right)

    def _counted(self, aggregate: type[Aggregate]) -> Callable[[], Any]:
        """An aggregate function whose steps are counted."""
        session = self

        class Counted(aggregate):  # type: ignore[valid-type, misc]
            def step(self, *values: Cell) -> None:
                session.calls += 1
                before = self.kept
                super().step(*values)
                session.keep(self.kept - before)

            def finalize(self) -> Cell:
                found: Cell = super().finalize()
                session.keep(-self.kept)
                return found

        return Counted

    def keep(self, count: int) -> None:
        """Count bytes that an aggregate function keeps.

        Raises:
            StatementError: too many.
        """
        self._kept += count
        if self._kept > self._most_kept:
            most = f"{self._most_kept // 1024**2} MiB of memory"
            error = StatementError(Reason.TOO_LARGE, f"the values of a group take more than {most}; group less")
            self.failure = error.failure
            raise error

    def _guarded(self, name: str, function: Callable[..., Cell]) -> Callable[..., Cell]:
        """SQLite says only that a function failed, so the reason is kept here."""

        def call(*values: Cell) -> Cell:
            self.calls += 1 + sum(len(value) for value in values if isinstance(value, str)) // _CHARACTERS_OF_A_CALL
            try:
                found = function(*values)
            except StatementError as error:
                self.failure = error.failure
                raise
            except (TypeError, ValueError, ArithmeticError) as error:
                self.failure = Failure(reason=Reason.FAILED, message=f"{name} cannot take these arguments: {error}")
                raise
            self.calls += len(found) // _CHARACTERS_OF_A_CALL if isinstance(found, str) else 0
            return found

        return call

    def _rand(self, *seed: Cell) -> float:
        """The same numbers in every session, so that a statement always gives the same result."""
        return self._random.random() if not seed else random.Random(text_of(seed[0])).random()  # noqa: S311
