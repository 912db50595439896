"""Where bars and axes begin and end."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def scale_of(*, rows: Iterable[Mapping[str, Any]], metric: str) -> tuple[float, float] | None:
    """The tenths around all intervals of a metric: the ends of its bars."""
    ends: list[float] = []
    for row in rows:
        value = row["metrics"].get(metric) or {}
        ends += [value[name] for name in ("low", "mean", "high") if value.get(name) is not None]
    return tenths(ends)


def tenths(ends: Sequence[float]) -> tuple[float, float] | None:
    """The tenths around some values; None if there are none."""
    if not ends:
        return None
    # Rounded first: 0.7 is 0.7000000000000001 after some arithmetic, and would open another tenth.
    low, high = math.floor(round(min(ends) * 10, 6)), math.ceil(round(max(ends) * 10, 6))
    if low == high:
        low, high = (low - 1, high) if high >= 10 else (low, high + 1)
    return low / 10, high / 10
