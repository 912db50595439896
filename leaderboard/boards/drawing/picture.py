"""A picture as a list of shapes with roles. Pages, files of SVG and PNGs are made from the same list.

Lengths are in the units of the picture, which are CSS pixels at its full size; x grows to the right, y downwards.
"""

from collections.abc import Sequence
from typing import NamedTuple

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


def text_width(text: str, *, size: float = SMALL) -> float:
    """About how wide a text is."""
    return LETTER * size * len(text)


def shortened(text: str, *, most: int) -> str:
    """A text of at most so many characters."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def flat(items: Sequence[Item]) -> list["Line | Cells | Mark | Text | Area"]:
    """The shapes without their links."""
    found: list[Line | Cells | Mark | Text | Area] = []
    for item in items:
        found.extend(item.items if isinstance(item, Link) else (item,))
    return found
