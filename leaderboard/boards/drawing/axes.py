"""Axes: from values to places in a picture, with round ticks and room at both ends. No database."""

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

PADDING = 0.06
"""Of the range of the values, at each end of an axis."""
_TICKS, _TIMES = 6, 5
"""At most about so many on an axis of numbers, and of times."""
_LEAST_RANGE = 1e-9
_DAY = 86_400.0
_SPANS = [
    1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 10_800, 21_600, 43_200, _DAY, 2 * _DAY, 7 * _DAY, 14 * _DAY,
    30 * _DAY, 91 * _DAY, 182 * _DAY, 365 * _DAY, 730 * _DAY,
]  # fmt: skip
"""Seconds between ticks of a time axis."""


class Unit(NamedTuple):
    """What a value is written in."""

    name: str
    """In the label of the axis."""
    factor: float = 1.0
    """A value in its own unit, divided by this, is in this one."""
    prefix: str = ""


class Tick(NamedTuple):
    """A mark on an axis."""

    at: float
    text: str


class Axis(NamedTuple):
    """Places of values between two ends of the picture."""

    start: float
    """Value at `low`; of a logarithmic axis, its logarithm to base 10."""
    end: float
    low: float
    high: float
    is_log: bool = False

    def at(self, value: float) -> float:
        """The place of a value."""
        position = math.log10(value) if self.is_log else value
        return self.low + (self.high - self.low) * (position - self.start) / (self.end - self.start)


def axis(
    *,
    values: Sequence[float],
    low: float,
    high: float,
    is_log: bool = False,
    floor: float | None = None,
    least_range: float = 0.0,
) -> Axis:
    """An axis that holds all values with room at both ends.

    Args:
        values: at least one; positive if the axis is logarithmic.
        low: where the axis begins in the picture.
        high: where it ends.
        is_log: whether it is logarithmic.
        floor: a value that is on the axis too, such as 0.
        least_range: of values on the axis, so that small differences look small.
    """
    found = [math.log10(value) for value in values] if is_log else [*values, *(() if floor is None else (floor,))]
    least, most = min(found), max(found)
    if most - least < _LEAST_RANGE and not least_range:
        room = abs(most) / 2 or 0.5
        # A floor is one because values below it are impossible.
        least, most = (least - room, most + room) if floor is None else (least, most + 2 * room)
    if (short := least_range - (most - least)) > 0:
        least, most = least - short / 2, most + short / 2
    room = PADDING * (most - least)
    return Axis(least - room, most + room, low, high, is_log)


def ticks_of(found: Axis, *, unit: Unit) -> tuple[Tick, ...]:
    """Round values on an axis, as texts in a unit."""
    if found.is_log:
        return _log_ticks(found, unit=unit)
    start, end = found.start / unit.factor, found.end / unit.factor
    step = round_step((end - start) / _TICKS)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    first, last = math.ceil(start / step - 1e-9), math.floor(end / step + 1e-9)
    values = [number * step for number in range(first, last + 1)]
    return tuple(
        Tick(found.at(value * unit.factor), f"{unit.prefix}{value + 0.0:,.{decimals}f}".replace("-0", "0", 1))
        if value == 0
        else Tick(found.at(value * unit.factor), _written(value, decimals=decimals, prefix=unit.prefix))
        for value in values
    )


def round_step(rough: float) -> float:
    """The next number of the form 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * (1 - 1e-9))


def _written(value: float, *, decimals: int, prefix: str) -> str:
    return f"{'-' if value < 0 else ''}{prefix}{abs(value):,.{decimals}f}"


def _log_ticks(found: Axis, *, unit: Unit) -> tuple[Tick, ...]:
    """Powers of ten, with 2 and 5 times them where the axis has few."""
    powers = range(math.floor(found.start) - 1, math.ceil(found.end) + 1)
    factors = (1, 2, 5) if found.end - found.start < 2.5 else (1,)
    values = [10.0**power * factor for power in powers for factor in factors]
    return tuple(
        Tick(found.at(value), f"{unit.prefix}{value / unit.factor:,.12g}")
        for value in values
        if found.start <= math.log10(value) <= found.end
    )


def time_ticks(found: Axis) -> tuple[Tick, ...]:
    """Round times on an axis of seconds since 1970, in UTC."""
    span = found.end - found.start
    step = next((step for step in _SPANS if span / step <= _TIMES), _SPANS[-1] * math.ceil(span / _SPANS[-1] / _TIMES))
    layout = "%H:%M:%S" if step < 60 else "%H:%M" if span < _DAY else "%d %b %H:%M" if step < _DAY else "%Y-%m-%d"
    first, last = math.ceil(found.start / step), math.floor(found.end / step)
    return tuple(
        Tick(found.at(number * step), f"{datetime.fromtimestamp(number * step, tz=UTC):{layout}}")
        for number in range(first, last + 1)
    )


def unit_of(values: Sequence[float], *, units: Sequence[tuple[float, Unit]]) -> Unit:
    """The unit in which values are easy to read: the first whose limit is above the largest value.

    Args:
        values: at least one.
        units: limit and unit, by growing limits; the last one is for all others.
    """
    most = max(abs(value) for value in values)
    return next((unit for limit, unit in units if most < limit), units[-1][1])


Words = Callable[[float], str]
"""Writes one value with its unit."""
