"""MySQL's aggregate functions that SQLite lacks, in bounded memory."""

import math
from collections.abc import Mapping
from typing import Any, Protocol

from evaluator.lumos.sql import collation
from evaluator.lumos.sql.outcome import Cell

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
        text = _text(value)[:LONGEST_GROUP_CONCAT]
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


def _text(value: Cell) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else str(value)


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
