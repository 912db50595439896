"""Values against values as a picture: whiskers, names, links, and a step line over the best. No database."""

from collections.abc import Sequence
from typing import NamedTuple

from leaderboard.boards.drawing.axes import Axis, Tick
from leaderboard.boards.drawing.picture import Cells, Item, Line, Link, Mark, Picture, Text, shortened
from leaderboard.boards.drawing.placing import Frame, boxes_of, moved_apart, named

WIDTH, HEIGHT = 640.0, 400.0
LEFT, RIGHT, TOP, BOTTOM = 62.0, 14.0, 32.0, 54.0
MOST_LINKED = 120
"""Marks that are links, with whiskers and names; the others are small dots."""
_MOST_WHISKERS = 60
_LETTERS = 24
FRAME = Frame(LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM)


class Dot(NamedTuple):
    """One value."""

    x: float
    y: float
    """Both in units of the axes."""
    name: str
    words: str
    """What is said of it: its name with both values."""
    address: str
    low: float | None = None
    high: float | None = None
    """Ends of the interval of `y`; None where there is none."""
    is_best: bool = False
    """Whether it is on the step line."""


class Axes(NamedTuple):
    """Axes with their ticks and labels."""

    x: Axis
    y: Axis
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    x_label: str
    y_label: str


def linked(dots: Sequence[Dot], *, better: int) -> list[Dot]:
    """The dots that are links: those on the line, then the best ones. `better` is 1 if more is better, else -1."""
    return sorted(dots, key=lambda dot: (not dot.is_best, -better * dot.y, dot.x))[:MOST_LINKED]


def scatter(
    *,
    key: str,
    title: str,
    description: str,
    axes: Axes,
    dots: Sequence[Dot],
    better: int,
    until: float | None = None,
    baseline: tuple[float, str] | None = None,
) -> Picture:
    """The picture.

    Args:
        key: names it and its files.
        title: of the picture.
        description: what can be seen in it.
        axes: that hold all dots.
        dots: in any order.
        better: 1 if more of y is better, else -1.
        until: x at which the step line ends; None: at its last dot.
        baseline: a value of y that others are read against, and its name.
    """
    first = linked(dots, better=better)
    chosen = set(map(id, first))
    rest = [dot for dot in dots if id(dot) not in chosen]
    items: list[Item] = [*_axes(axes)]
    if baseline is not None:
        y = axes.y.at(baseline[0])
        items.append(Line("baseline", ((LEFT, y), (WIDTH - RIGHT, y))))
        items.append(Text("tick", WIDTH - RIGHT, y - 6, baseline[1], "end"))
    if rest:
        items.append(Cells("crowd", 4, tuple((axes.x.at(dot.x), axes.y.at(dot.y), 0.0) for dot in rest)))
    line = _line(axes=axes, dots=[dot for dot in dots if dot.is_best], until=until)
    items += [*line, *_marks(axes=axes, dots=first, lines=line)]
    return Picture(key, title, description, WIDTH, HEIGHT, tuple(items))


def _axes(axes: Axes) -> list[Item]:
    items: list[Item] = []
    for tick in axes.y_ticks:
        items.append(Line("grid", ((LEFT, tick.at), (WIDTH - RIGHT, tick.at))))
        items.append(Text("tick", LEFT - 8, tick.at + 4, tick.text, "end"))
    items.append(Text("label", 6, 15, axes.y_label))
    bottom = HEIGHT - BOTTOM
    items.append(Line("axis", ((LEFT, bottom), (WIDTH - RIGHT, bottom))))
    for tick in axes.x_ticks:
        items.append(Line("axis", ((tick.at, bottom), (tick.at, bottom + 5))))
        items.append(Text("tick", tick.at, bottom + 20, tick.text, "middle"))
    items.append(Text("label", (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, axes.x_label, "middle"))
    return items


def _line(*, axes: Axes, dots: Sequence[Dot], until: float | None) -> list[Line]:
    """Steps through the best, each level until the next one; only where there are data."""
    placed = [(axes.x.at(dot.x), axes.y.at(dot.y)) for dot in sorted(dots, key=lambda dot: dot.x)]
    points: list[tuple[float, float]] = []
    for x, y in placed:
        if points:
            points.append((x, points[-1][1]))
        points.append((x, y))
    if points and until is not None:
        points.append((axes.x.at(until), points[-1][1]))
    return [Line("front", tuple(points))] if len(points) > 1 else []


def _marks(*, axes: Axes, dots: Sequence[Dot], lines: Sequence[Line]) -> list[Item]:
    true = [(axes.x.at(dot.x), axes.y.at(dot.y)) for dot in dots]
    placed = moved_apart(true, frame=FRAME)
    drawn: list[Line] = []
    for number, (dot, at, (x, y)) in enumerate(zip(dots, true, placed, strict=True)):
        if dot.low is not None and dot.high is not None and (dot.is_best or number < _MOST_WHISKERS):
            drawn.append(Line("whisker", ((x, axes.y.at(dot.low)), (x, axes.y.at(dot.high)))))
        if (x, y) != at:
            drawn.append(Line("leader", (at, (x, y))))
    taken = [box for line in (*lines, *drawn) for box in boxes_of(line)]
    texts = [shortened(dot.name, most=_LETTERS) for dot in dots]
    names = named(marks=placed, names=texts, frame=FRAME, taken=taken)
    items: list[Item] = [*drawn]
    for dot, (x, y), name in zip(dots, placed, names, strict=True):
        mark = Mark("dot best" if dot.is_best else "dot", x, y)
        items.append(Link(dot.address, dot.words, (mark,) if name is None else (mark, name)))
    return items
