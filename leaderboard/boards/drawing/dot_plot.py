"""Dot plot: a band for each label, with a value and interval for each series. No database access."""

from collections.abc import Sequence
from typing import NamedTuple

from leaderboard.boards.drawing.picture import (
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
"""Minimum range of the axis."""


class Value(NamedTuple):
    mean: float
    low: float | None
    high: float | None
    """Ends of the interval, or None."""
    words: str
    address: str = ""
    """Target of its link, or empty."""


class Band(NamedTuple):
    label: str
    values: tuple[Value | None, ...]
    """By series."""


class Scale(NamedTuple):
    """Options of the axis."""

    label: str = ""
    holds: tuple[float, ...] = ()
    """Values that the axis always covers."""
    baseline: tuple[float, str] | None = None
    """A reference value and its label."""


PLAIN = Scale()


def dot_plot(*, key: str, title: str, description: str, bands: Sequence[Band], scale: Scale = PLAIN) -> Picture:
    """The plot of bands of which at least one has a value. Series differ in colour, shape and order."""
    values = [value for band in bands for value in band.values if value is not None]
    ends = [end for value in values for end in (value.low, value.mean, value.high) if end is not None]
    held = (*scale.holds, *(() if scale.baseline is None else scale.baseline[:1]))
    x = axis(values=[*ends, *held], low=LEFT, high=WIDTH - RIGHT, least_range=_LEAST)
    heights = [_GAP + _LINE * len(band.values) for band in bands]
    bottom = TOP + sum(heights)
    items: list[Item] = []
    for tick in ticks_of(x, unit=Unit("")):
        items += [Line("grid", ((tick.at, TOP), (tick.at, bottom))), Text("tick", tick.at, 20, tick.text, "middle")]
    below = bottom
    if scale.baseline is not None:
        at = x.at(scale.baseline[0])
        anchor = "end" if at > (LEFT + WIDTH - RIGHT) / 2 else "start"
        below += _BELOW
        items.append(Line("baseline", ((at, TOP), (at, bottom + 6))))
        items.append(Text("tick", at, below - 4, scale.baseline[1], anchor))
    if scale.label:
        below += _BELOW
        items.append(Text("label", (LEFT + WIDTH - RIGHT) / 2, below - 4, scale.label, "middle"))
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
    return Picture(key, title, description, WIDTH, below + BOTTOM, tuple(items))
