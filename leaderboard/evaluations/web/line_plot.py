"""A line with dots as coordinates for SVG (`components/line_plot.html`). No database. A table beside it has the same
figures."""

from typing import NamedTuple

WIDTH, HEIGHT = 640, 340
LEFT, RIGHT, TOP, BOTTOM = 68, 18, 18, 56


class Tick(NamedTuple):
    """A mark on an axis."""

    at: str
    text: str


class Dot(NamedTuple):
    """A mark of a value, with its words for screen readers and tooltips."""

    x: str
    y: str
    words: str


class LinePlot(NamedTuple):
    """Shares to the right and upwards, from 0 to 1."""

    key: str
    title: str
    description: str
    x_label: str
    y_label: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    line: str
    """Path through the values."""
    dots: tuple[Dot, ...]
    reference: str = ""
    """Path that the values are read against; empty: none."""
    reference_words: str = ""
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    bottom: int = HEIGHT - BOTTOM
    middle: int = (LEFT + WIDTH - RIGHT) // 2
    center: int = (TOP + HEIGHT - BOTTOM) // 2
    """Of the axis upwards."""


def across(share: float) -> str:
    """The place of a share of the width."""
    return f"{LEFT + (WIDTH - RIGHT - LEFT) * share:.1f}"


def up(share: float) -> str:
    """The place of a share of the height; y grows downwards. What is outside of [0, 1] is at its end."""
    return f"{HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * min(max(share, 0.0), 1.0):.1f}"
