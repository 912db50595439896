"""Scatter plot with whiskers, names, links, and a step line through the best values. No database access."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from leaderboard.boards.drawing.picture import (
    SMALL,
    Axis,
    Cells,
    Item,
    Line,
    Link,
    Mark,
    Picture,
    Text,
    Tick,
    shortened,
    text_width,
)

RADIUS = 5.0
"""Radius of a mark."""
APART = 13.0
"""Minimum distance between the centres of marks."""
_RINGS = 9
_GAP = 4.0


class Box(NamedTuple):
    """A rectangle: the frame of the plot, or the extent of a shape."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: "Box") -> bool:
        """Whether the boxes intersect."""
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


def box_of(text: Text) -> Box:
    """The extent of a text."""
    width = text_width(text.text)
    left = text.x - {"start": 0.0, "middle": width / 2, "end": width}[text.anchor]
    return Box(left, text.y - SMALL * 0.8, left + width, text.y + SMALL * 0.25)


def boxes_of(line: Line) -> list[Box]:
    """The extents of the segments of a line."""
    return [
        Box(min(x, right) - 1, min(y, bottom) - 1, max(x, right) + 1, max(y, bottom) + 1)
        for (x, y), (right, bottom) in pairwise(line.points)
    ]


def moved_apart(points: Sequence[tuple[float, float]], *, frame: Box) -> list[tuple[float, float]]:
    """Positions at which no mark covers another: each mark moves to the nearest free position, preferably sideways.

    Args:
        points: x and y in descending priority; earlier marks displace later ones.
        frame: limits of the positions.
    """
    placed: list[tuple[float, float]] = []
    for x, y in points:
        free = (
            (x + dx, y + dy)
            for dx, dy in _offsets()
            if frame.left <= x + dx <= frame.right
            and frame.top <= y + dy <= frame.bottom
            and all((x + dx - px) ** 2 + (y + dy - py) ** 2 >= (APART - 0.5) ** 2 for px, py in placed)
        )
        placed.append(next(free, (x, y)))
    return placed


def _offsets() -> Iterator[tuple[float, float]]:
    """Offsets around a point, ring by ring: sideways first, then above and below."""
    yield 0.0, 0.0
    for ring in range(1, _RINGS):
        around = [
            (dx, dy) for dx in range(-ring, ring + 1) for dy in range(-ring, ring + 1) if max(abs(dx), abs(dy)) == ring
        ]
        for dx, dy in sorted(around, key=lambda offset: (abs(offset[1]), -offset[0], offset[1])):
            yield dx * APART, dy * APART


def named(
    *,
    marks: Sequence[tuple[float, float]],
    names: Sequence[str],
    frame: Box,
    taken: Sequence[Box] = (),
    lines: Sequence[Box] = (),
    must: int = 0,
) -> list[Text | None]:
    """The names of marks next to them, where there is room: right, left, above or below.

    Args:
        marks: centres, in descending priority.
        names: one per mark; empty for none.
        frame: limits of the names.
        taken: extents of other texts.
        lines: extents that names avoid if possible.
        must: number of first names that may cover lines.

    Returns:
        For each mark its text, or None if it would cover a mark or another text. If there is no room next to a mark,
        its name is appended to that of a neighbour.
    """
    boxes = [Box(x - RADIUS - 1, y - RADIUS - 1, x + RADIUS + 1, y + RADIUS + 1) for x, y in marks]
    occupied = list(taken)
    texts: list[Text | None] = []
    for number, ((x, y), name) in enumerate(zip(marks, names, strict=True)):
        others = [*boxes[:number], *boxes[number + 1 :], *occupied]
        beside = [text for text in _beside(name, x=x, y=y) if name and _is_free(text, frame=frame, others=others)]
        clear = [text for text in beside if _is_free(text, frame=frame, others=lines)]
        text = next(iter(clear or (beside if number < must else ())), None)
        texts.append(text)
        if text is not None:
            occupied.append(box_of(text))
    for number, (mark, name) in enumerate(zip(marks, names, strict=True)):
        if name and texts[number] is None:
            appended = _appended(name, mark=mark, marks=marks, texts=texts)
            others = [*boxes, *occupied, *lines]
            free = (text for text in appended if _is_free(text, frame=frame, others=others))
            if (text := next(free, None)) is not None:
                texts[number] = text
                occupied.append(box_of(text))
    return texts


def _appended(
    name: str, *, mark: tuple[float, float], marks: Sequence[tuple[float, float]], texts: Sequence[Text | None]
) -> Iterator[Text]:
    """The name after those of nearby marks, nearest first, or before them if they end at their mark, as in a list."""
    near = [((x - mark[0]) ** 2 + (y - mark[1]) ** 2, text) for (x, y), text in zip(marks, texts, strict=True) if text]
    for distance, text in sorted(near, key=lambda pair: pair[0]):
        # Only marks so close that they were moved apart.
        if distance > (2 * APART) ** 2:
            break
        if text.anchor == "start":
            yield Text("name", box_of(text).right, text.y, f", {name}")
        elif text.anchor == "end":
            yield Text("name", box_of(text).left, text.y, f"{name},", "end")


def _is_free(text: Text, *, frame: Box, others: Sequence[Box]) -> bool:
    box = box_of(text)
    if box.left < frame.left or box.right > frame.right or box.top < frame.top or box.bottom > frame.bottom:
        return False
    return not any(box.overlaps(other) for other in others)


def _beside(name: str, *, x: float, y: float) -> Iterator[Text]:
    away = RADIUS + _GAP
    for text_x, text_y, anchor in (
        (x + away, y + 4, "start"),
        (x - away, y + 4, "end"),
        (x, y - away - 1, "middle"),
        (x, y + away + SMALL * 0.75, "middle"),
        (x + away - 2, y - away + 2, "start"),
        (x + away - 2, y + away + 6, "start"),
        (x - away + 2, y - away + 2, "end"),
        (x - away + 2, y + away + 6, "end"),
    ):
        yield Text("name", text_x, text_y, name, anchor)


WIDTH, HEIGHT = 640.0, 400.0
LEFT, RIGHT, TOP, BOTTOM = 62.0, 14.0, 32.0, 54.0
MOST_LINKED = 120
"""Number of marks with links, whiskers and names; the others are small dots."""
_MOST_WHISKERS = 60
_LETTERS = 24
FRAME = Box(LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM)


class Dot(NamedTuple):
    """One value."""

    x: float
    y: float
    """Both in units of the axes."""
    name: str
    words: str
    """Label: its name with both values."""
    address: str
    low: float | None = None
    high: float | None = None
    """Ends of the interval of `y`, or None."""
    is_best: bool = False
    """Whether it is on the step line."""


class Axes(NamedTuple):
    x: Axis
    y: Axis
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    x_label: str
    y_label: str


def linked(dots: Sequence[Dot], *, better: int) -> list[Dot]:
    """The dots with links: those on the line, then the best of the rest. `better` is 1 if higher is better, else -1."""
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
        key: identifies the picture.
        title: of the picture.
        description: its text alternative.
        axes: that cover all dots.
        dots: in any order.
        better: 1 if higher y is better, else -1.
        until: x at which the step line ends; None: at its last dot.
        baseline: a reference value of y and its label.
    """
    first = linked(dots, better=better)
    chosen = set(map(id, first))
    rest = [dot for dot in dots if id(dot) not in chosen]
    items: list[Item] = [*_axes(axes)]
    texts: list[Text] = []
    if baseline is not None:
        y = axes.y.at(baseline[0])
        items.append(Line("baseline", ((LEFT, y), (WIDTH - RIGHT, y))))
        texts.append(Text("tick", WIDTH - RIGHT, y - 6, baseline[1], "end"))
    if rest:
        items.append(Cells("crowd", 4, tuple((axes.x.at(dot.x), axes.y.at(dot.y), 0.0) for dot in rest)))
    line = _line(axes=axes, dots=[dot for dot in dots if dot.is_best], until=until)
    items += [*texts, *line, *_marks(axes=axes, dots=first, lines=line, texts=texts)]
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
    """Steps through the best dots, each level until the next one."""
    points: list[tuple[float, float]] = []
    for dot in sorted(dots, key=lambda dot: dot.x):
        x, y = axes.x.at(dot.x), axes.y.at(dot.y)
        if points:
            points.append((x, points[-1][1]))
        points.append((x, y))
    if points and until is not None:
        points.append((axes.x.at(until), points[-1][1]))
    return [Line("front", tuple(points))] if len(points) > 1 else []


def _marks(*, axes: Axes, dots: Sequence[Dot], lines: Sequence[Line], texts: Sequence[Text]) -> list[Item]:
    true = [(axes.x.at(dot.x), axes.y.at(dot.y)) for dot in dots]
    placed = moved_apart(true, frame=FRAME)
    drawn: list[Line] = []
    for number, (dot, at, (x, y)) in enumerate(zip(dots, true, placed, strict=True)):
        if dot.low is not None and dot.high is not None and (dot.is_best or number < _MOST_WHISKERS):
            drawn.append(Line("whisker", ((x, axes.y.at(dot.low)), (x, axes.y.at(dot.high)))))
        if (x, y) != at:
            drawn.append(Line("leader", (at, (x, y))))
    names = named(
        marks=placed,
        names=[shortened(dot.name, most=_LETTERS) for dot in dots],
        frame=FRAME,
        taken=list(map(box_of, texts)),
        lines=[box for line in (*lines, *drawn) for box in boxes_of(line)],
        must=sum(dot.is_best for dot in dots),
    )
    items: list[Item] = [*drawn]
    for dot, (x, y), name in zip(dots, placed, names, strict=True):
        mark = Mark("dot best" if dot.is_best else "dot", x, y)
        items.append(Link(dot.address, dot.words, (mark,) if name is None else (mark, name)))
    return items
