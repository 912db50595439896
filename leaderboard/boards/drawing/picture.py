"""Marks and scales: a picture is a list of shapes with roles, placed by axes with round ticks. No database.

Pages, files of SVG and PNGs are made from the same list.
Lengths are in the units of the picture, which are CSS pixels at its full size; x grows to the right, y downwards.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

LETTER = 0.56
"""Mean width of a letter of the site's font, as a share of the font's size."""
TEXT, SMALL = 13.0, 12.0
"""Sizes of labels, and of ticks and names of marks."""


class Line(NamedTuple):
    """A line through points."""

    role: str
    points: tuple[tuple[float, float], ...]

    @property
    def path(self) -> str:
        """As the `d` of a path."""
        return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in self.points)


class Cells(NamedTuple):
    """Rectangles of one height and colour."""

    role: str
    height: float
    runs: tuple[tuple[float, float, float], ...]
    """Left end, middle line and width of each."""

    @property
    def path(self) -> str:
        """Their middle lines as the `d` of a path, whose stroke is as wide as the cells are high."""
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
        """As a `transform`."""
        return f"translate({number(self.x)} {number(self.y)})"


class Text(NamedTuple):
    """One line of text."""

    role: str
    x: float
    y: float
    """Of its baseline."""
    text: str
    anchor: str = "start"
    """`start`, `middle` or `end`."""

    @property
    def place(self) -> str:
        """As a `transform`."""
        return f"translate({number(self.x)} {number(self.y)})"


class Area(NamedTuple):
    """A rectangle that can be clicked, and is drawn only then."""

    role: str
    x: float
    y: float
    width: float
    height: float


class Link(NamedTuple):
    """Shapes that lead somewhere, or are only named."""

    address: str
    """Empty: they lead nowhere."""
    words: str
    """What it is called, for screen readers and tooltips."""
    items: tuple["Line | Mark | Text | Area", ...]

    @property
    def is_named(self) -> bool:
        """Whether a text in it names it."""
        return any(isinstance(item, Text) for item in self.items)


Item = Line | Cells | Mark | Text | Area | Link


class Picture(NamedTuple):
    """One picture."""

    key: str
    """Names it among the pictures of a page, and its files."""
    title: str
    description: str
    """What can be seen in it, as sentences."""
    width: float
    height: float
    items: tuple[Item, ...]

    @property
    def box(self) -> str:
        """As a `viewBox`."""
        return f"0 0 {number(self.width)} {number(self.height)}"


def number(value: float) -> str:
    """A length with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


def text_width(text: str) -> float:
    """About how wide a small text is."""
    return LETTER * SMALL * len(text)


def shortened(text: str, *, most: int) -> str:
    """A text of at most so many characters."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def flat(items: Sequence[Item]) -> list["Line | Cells | Mark | Text | Area"]:
    """The shapes without their links."""
    return [shape for item in items for shape in (item.items if isinstance(item, Link) else (item,))]


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
    positions = [math.log10(value) for value in values] if is_log else [*values, *(() if floor is None else (floor,))]
    least, most = min(positions), max(positions)
    if most - least < _LEAST_RANGE and not least_range:
        room = abs(most) / 2 or 0.5
        # A floor is one because values below it are impossible.
        least, most = (least - room, most + room) if floor is None else (least, most + 2 * room)
    if (short := least_range - (most - least)) > 0:
        least, most = least - short / 2, most + short / 2
    room = PADDING * (most - least)
    return Axis(least - room, most + room, low, high, is_log)


def ticks_of(scale: Axis, *, unit: Unit) -> tuple[Tick, ...]:
    """Round values on an axis, as texts in a unit."""
    if scale.is_log:
        # Powers of ten, with 2 and 5 times them where the axis has few.
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
    """Round times on an axis of seconds since 1970, in UTC."""
    span = scale.end - scale.start
    step = next((step for step in _SPANS if span / step <= _TIMES), _SPANS[-1] * math.ceil(span / _SPANS[-1] / _TIMES))
    layout = "%H:%M:%S" if step < 60 else "%H:%M" if span < _DAY else "%d %b %H:%M" if step < _DAY else "%Y-%m-%d"
    first, last = math.ceil(scale.start / step), math.floor(scale.end / step)
    return tuple(
        Tick(scale.at(number * step), f"{datetime.fromtimestamp(number * step, tz=UTC):{layout}}")
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
