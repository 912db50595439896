"""Marks and scales: a picture is a list of shapes with roles, positioned by axes with round ticks. No database access.

Pages, SVG files and PNG files are generated from the same list. Lengths are in units of the picture, which are CSS
pixels at full size; x grows to the right, y downwards.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

LETTER = 0.56
"""Mean width of a letter of the site's font, as a fraction of the font size."""
TEXT, SMALL = 13.0, 12.0
"""Font sizes of labels, and of ticks and names of marks."""


class Line(NamedTuple):
    """A polyline."""

    role: str
    points: tuple[tuple[float, float], ...]

    @property
    def path(self) -> str:
        """The `d` attribute of a path."""
        return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in self.points)


class Cells(NamedTuple):
    """Rectangles of equal height and colour."""

    role: str
    height: float
    runs: tuple[tuple[float, float, float], ...]
    """Left end, vertical centre and width of each."""

    @property
    def path(self) -> str:
        """The centre lines as the `d` attribute of a path whose stroke width is the height of the cells."""
        return "".join(f"M{number(x)} {number(y)}h{number(width)}" for x, y, width in self.runs)


class Mark(NamedTuple):
    """A mark of one value."""

    role: str
    x: float
    y: float
    shape: int = 1
    """1 to 5: circle, square, triangle, diamond, cross."""

    @property
    def place(self) -> str:
        """The `transform` attribute."""
        return f"translate({number(self.x)} {number(self.y)})"


class Text(NamedTuple):
    """One line of text."""

    role: str
    x: float
    y: float
    """Position of the baseline."""
    text: str
    anchor: str = "start"
    """`start`, `middle` or `end`."""

    @property
    def place(self) -> str:
        """The `transform` attribute."""
        return f"translate({number(self.x)} {number(self.y)})"


class Area(NamedTuple):
    """A clickable rectangle, invisible unless hovered or focused."""

    role: str
    x: float
    y: float
    width: float
    height: float


class Link(NamedTuple):
    """Shapes with a link, a label, or both."""

    address: str
    """Empty: no link."""
    words: str
    """Label for screen readers and tooltips."""
    items: tuple["Line | Mark | Text | Area", ...]

    @property
    def is_named(self) -> bool:
        """Whether it contains a visible text."""
        return any(isinstance(item, Text) for item in self.items)


Item = Line | Cells | Mark | Text | Area | Link


class Picture(NamedTuple):
    key: str
    """Identifies it on its page, and in file names."""
    title: str
    description: str
    """Text alternative, in sentences."""
    width: float
    height: float
    items: tuple[Item, ...]

    @property
    def box(self) -> str:
        """The `viewBox` attribute."""
        return f"0 0 {number(self.width)} {number(self.height)}"


def number(value: float) -> str:
    """A length with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


def text_width(text: str) -> float:
    """Approximate width of a small text."""
    return LETTER * SMALL * len(text)


def shortened(text: str, *, most: int) -> str:
    """The text, cut to at most `most` characters with an ellipsis."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def flat(items: Sequence[Item]) -> list["Line | Cells | Mark | Text | Area"]:
    """The shapes without their links."""
    return [shape for item in items for shape in (item.items if isinstance(item, Link) else (item,))]


PADDING = 0.06
"""Padding at each end of an axis, as a fraction of the range of values."""
_TICKS, _TIMES = 6, 5
"""Approximate maximum number of ticks on an axis of numbers, and of times."""
_LEAST_RANGE = 1e-9
_DAY = 86_400.0
_SPANS = [
    1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 10_800, 21_600, 43_200, _DAY, 2 * _DAY, 7 * _DAY, 14 * _DAY,
    30 * _DAY, 91 * _DAY, 182 * _DAY, 365 * _DAY, 730 * _DAY,
]  # fmt: skip
"""Seconds between ticks of a time axis."""


class Unit(NamedTuple):
    """The display unit of an axis."""

    name: str
    """Label of the axis."""
    factor: float = 1.0
    """Values are divided by this factor."""
    prefix: str = ""


class Tick(NamedTuple):
    at: float
    text: str


class Axis(NamedTuple):
    """Maps values to positions between `low` and `high` in the picture."""

    start: float
    """Value at `low`; on a logarithmic axis, its logarithm to base 10."""
    end: float
    low: float
    high: float
    is_log: bool = False

    def at(self, value: float) -> float:
        """The position of a value."""
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
    """An axis that covers all values with padding at both ends.

    Args:
        values: at least one; positive if the axis is logarithmic.
        low: position of the axis' start in the picture.
        high: position of its end.
        is_log: whether it is logarithmic.
        floor: an additional value on the axis, such as 0.
        least_range: minimum range of the axis, so that small differences look small.
    """
    positions = [math.log10(value) for value in values] if is_log else [*values, *(() if floor is None else (floor,))]
    least, most = min(positions), max(positions)
    if most - least < _LEAST_RANGE and not least_range:
        room = abs(most) / 2 or 0.5
        # Values below the floor are impossible, so the range grows upwards.
        least, most = (least - room, most + room) if floor is None else (least, most + 2 * room)
    if (short := least_range - (most - least)) > 0:
        least, most = least - short / 2, most + short / 2
    room = PADDING * (most - least)
    return Axis(least - room, most + room, low, high, is_log)


def ticks_of(scale: Axis, *, unit: Unit) -> tuple[Tick, ...]:
    """Ticks at round values, labelled in a unit."""
    if scale.is_log:
        # Powers of ten, with their multiples by 2 and 5 if the axis spans few.
        powers = range(math.floor(scale.start) - 1, math.ceil(scale.end) + 1)
        factors = (1, 2, 5) if scale.end - scale.start < 2.5 else (1,)
        logs = [10.0**power * factor for power in powers for factor in factors]
        return tuple(
            Tick(scale.at(value), f"{unit.prefix}{value / unit.factor:,.12g}")
            for value in logs
            if scale.start <= math.log10(value) <= scale.end
        )
    start, end = scale.start / unit.factor, scale.end / unit.factor
    rough = (end - start) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    # The next number of the form 1, 2 or 5 times a power of ten.
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * (1 - 1e-9))
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    first, last = math.ceil(start / step - 1e-9), math.floor(end / step + 1e-9)
    values = [number * step for number in range(first, last + 1)]
    return tuple(
        Tick(scale.at(value * unit.factor), f"{'-' if value < 0 else ''}{unit.prefix}{abs(value):,.{decimals}f}")
        for value in values
    )


def time_ticks(scale: Axis) -> tuple[Tick, ...]:
    """Ticks at round times on an axis of seconds since 1970, in UTC."""
    span = scale.end - scale.start
    step = next((step for step in _SPANS if span / step <= _TIMES), _SPANS[-1] * math.ceil(span / _SPANS[-1] / _TIMES))
    layout = "%H:%M:%S" if step < 60 else "%H:%M" if span < _DAY else "%d %b %H:%M" if step < _DAY else "%Y-%m-%d"
    first, last = math.ceil(scale.start / step), math.floor(scale.end / step)
    return tuple(
        Tick(scale.at(number * step), f"{datetime.fromtimestamp(number * step, tz=UTC):{layout}}")
        for number in range(first, last + 1)
    )


def unit_of(values: Sequence[float], *, units: Sequence[tuple[float, Unit]]) -> Unit:
    """The first unit whose limit is above the largest value.

    Args:
        values: at least one.
        units: limit and unit, in ascending order; the last is the fallback.
    """
    most = max(abs(value) for value in values)
    return next((unit for limit, unit in units if most < limit), units[-1][1])


def scale_of(*, rows: Iterable[Mapping[str, Any]], metric: str) -> tuple[float, float] | None:
    """The tenths that enclose all intervals of a metric: the range of its bars."""
    ends: list[float] = []
    for row in rows:
        value = row["metrics"].get(metric) or {}
        ends += [value[name] for name in ("low", "mean", "high") if value.get(name) is not None]
    return tenths(ends)


def tenths(ends: Sequence[float]) -> tuple[float, float] | None:
    """The tenths that enclose the values; None if there are none."""
    if not ends:
        return None
    # Rounded first: 0.7 may be 0.7000000000000001 after arithmetic, which would add another tenth.
    low, high = math.floor(round(min(ends) * 10, 6)), math.ceil(round(max(ends) * 10, 6))
    if low == high:
        low, high = (low - 1, high) if high >= 10 else (low, high + 1)
    return low / 10, high / 10
