"""Values with intervals below each other: a band for each label, in it a line for each series. No database."""

from collections.abc import Sequence
from typing import NamedTuple

from leaderboard.boards.drawing.picture import (
    Axis,
    Item,
    Line,
    Link,
    Mark,
    Picture,
    Text,
    Unit,
    axis,
    shortened,
    ticks_of,
)

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 640.0, 220.0, 18.0, 30.0, 10.0
_LINE, _GAP = 15.0, 9.0
_BELOW = 22.0
"""Height of a line of text below the bands."""
_LETTERS = 30
_LEAST = 0.2
"""Range of scores."""


class Value(NamedTuple):
    """One mean."""

    mean: float
    low: float | None
    high: float | None
    """Ends of the interval; None where there is none."""
    words: str
    address: str = ""
    """Where it leads; empty: nowhere."""


class Band(NamedTuple):
    """One group."""

    label: str
    values: tuple[Value | None, ...]
    """By series; None where it has none."""


class Scale(NamedTuple):
    """What the axis has besides the values."""

    label: str = ""
    holds: tuple[float, ...] = ()
    """Values that are on it whatever is drawn."""
    baseline: tuple[float, str] | None = None
    """A value that others are read against, and what it means."""


PLAIN = Scale()


def dot_plot(*, key: str, title: str, description: str, bands: Sequence[Band], scale: Scale = PLAIN) -> Picture:
    """The picture; at least one band has a value. Series differ in colour, shape and order."""
    values = [value for band in bands for value in band.values if value is not None]
    ends = [end for value in values for end in (value.low, value.mean, value.high) if end is not None]
    held = (*scale.holds, *(() if scale.baseline is None else scale.baseline[:1]))
    x = axis(values=[*ends, *held], low=LEFT, high=WIDTH - RIGHT, least_range=_LEAST)
    heights = [_GAP + _LINE * len(band.values) for band in bands]
    bottom = TOP + sum(heights)
    items: list[Item] = []
    for tick in ticks_of(x, unit=Unit("")):
        items += [Line("grid", ((tick.at, TOP), (tick.at, bottom))), Text("tick", tick.at, 20, tick.text, "middle")]
    below = _below(scale, x=x, bottom=bottom)
    items += below
    y = TOP
    for band, height in zip(bands, heights, strict=True):
        items.append(Line("grid", ((8, y), (WIDTH - RIGHT, y))))
        items.append(Text("label", LEFT - 12, y + height / 2 + 4, shortened(band.label, most=_LETTERS), "end"))
        for number, value in enumerate(band.values, start=1):
            if value is not None:
                at = y + _GAP / 2 + _LINE * (number - 0.5)
                if value.low is not None and value.high is not None:
                    items.append(Line(f"whisker-{number}", ((x.at(value.low), at), (x.at(value.high), at))))
                items.append(
                    Link(value.address, value.words, (Mark(f"series-{number}", x.at(value.mean), at, number),))
                )
        y += height
    lines = sum(isinstance(item, Text) for item in below)
    return Picture(key, title, description, WIDTH, bottom + BOTTOM + _BELOW * lines, tuple(items))


def _below(scale: Scale, *, x: Axis, bottom: float) -> list[Item]:
    """The line through all bands with its meaning, and the label of the axis."""
    items: list[Item] = []
    y = bottom + _BELOW - 4
    if scale.baseline is not None:
        at = x.at(scale.baseline[0])
        anchor = "end" if at > (LEFT + WIDTH - RIGHT) / 2 else "start"
        items += [Line("baseline", ((at, TOP), (at, bottom + 6))), Text("tick", at, y, scale.baseline[1], anchor)]
        y += _BELOW
    if scale.label:
        items.append(Text("label", (LEFT + WIDTH - RIGHT) / 2, y, scale.label, "middle"))
    return items
