"""Values against values as a picture: whiskers, names, links, and a step line over the best. No database."""

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
"""Of a mark."""
APART = 13.0
"""Between the middles of neighbours."""
_RINGS = 9
_GAP = 4.0


class Frame(NamedTuple):
    """Where marks may be."""

    left: float
    top: float
    right: float
    bottom: float


class Box(NamedTuple):
    """A rectangle that something takes up."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: "Box") -> bool:
        """Whether both cover the same place."""
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


def box_of(text: Text) -> Box:
    """What a text takes up."""
    width = text_width(text.text)
    left = text.x - {"start": 0.0, "middle": width / 2, "end": width}[text.anchor]
    return Box(left, text.y - SMALL * 0.8, left + width, text.y + SMALL * 0.25)


def boxes_of(line: Line) -> list[Box]:
    """What the parts of a line take up."""
    return [
        Box(min(x, right) - 1, min(y, bottom) - 1, max(x, right) + 1, max(y, bottom) + 1)
        for (x, y), (right, bottom) in pairwise(line.points)
    ]


def moved_apart(points: Sequence[tuple[float, float]], *, frame: Frame) -> list[tuple[float, float]]:
    """Places at which no mark covers another: a mark goes to the nearest free place, sideways first.

    Args:
        points: x and y, the most important first, which stay where they are.
        frame: that marks do not leave.
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
    """Places around a point: as it is, to both sides, then above and below, ring by ring."""
    yield 0.0, 0.0
    for ring in range(1, _RINGS):
        around = [
            (dx, dy) for dx in range(-ring, ring + 1) for dy in range(-ring, ring + 1) if max(abs(dx), abs(dy)) == ring
        ]
        for dx, dy in sorted(around, key=lambda place: (abs(place[1]), -place[0], place[1])):
            yield dx * APART, dy * APART


def named(
    *,
    marks: Sequence[tuple[float, float]],
    names: Sequence[str],
    frame: Frame,
    taken: Sequence[Box] = (),
    lines: Sequence[Box] = (),
    must: int = 0,
) -> list[Text | None]:
    """The names of marks beside them, where there is room: right, left, above or below.

    Args:
        marks: middles, the most important first.
        names: one for each mark; empty: none.
        frame: that names do not leave.
        taken: places of other texts.
        lines: places that names leave free if they can.
        must: so many of the first names may cover lines.

    Returns:
        For each mark the text, or None where it would cover a mark or another text. Where there is no room beside a
        mark, its name continues that of a neighbour.
    """
    boxes = [Box(x - RADIUS - 1, y - RADIUS - 1, x + RADIUS + 1, y + RADIUS + 1) for x, y in marks]
    texts = list(taken)
    found: list[Text | None] = []
    for place, ((x, y), name) in enumerate(zip(marks, names, strict=True)):
        others = [*boxes[:place], *boxes[place + 1 :], *texts]
        beside = [one for one in _beside(name, x=x, y=y) if name and _is_free(one[1], frame=frame, others=others)]
        clear = [one for one in beside if _is_free(one[1], frame=frame, others=lines)]
        chosen = next(iter(clear or (beside if place < must else ())), None)
        found.append(None if chosen is None else chosen[0])
        if chosen is not None:
            texts.append(chosen[1])
    for place, name in enumerate(names):
        if name and found[place] is None:
            listed = _listed(name, texts=_near(marks[place], marks=marks, texts=found))
            free = (one for one in listed if _is_free(one[1], frame=frame, others=[*boxes, *texts, *lines]))
            if (chosen := next(free, None)) is not None:
                found[place] = chosen[0]
                texts.append(chosen[1])
    return found


def _near(
    mark: tuple[float, float], *, marks: Sequence[tuple[float, float]], texts: Sequence[Text | None]
) -> list[Text]:
    """The names of marks so near that they were moved apart, the nearest first."""
    found = [((x - mark[0]) ** 2 + (y - mark[1]) ** 2, text) for (x, y), text in zip(marks, texts, strict=True) if text]
    return [text for far, text in sorted(found, key=lambda one: one[0]) if far <= (2 * APART) ** 2]


def _listed(name: str, *, texts: Sequence[Text]) -> Iterator[tuple[Text, Box]]:
    """A name after each of these names, or before it where that ends at its mark, as in a list."""
    for text in texts:
        box = box_of(text)
        if text.anchor == "start":
            after = Text("name", box.right, text.y, f", {name}")
        elif text.anchor == "end":
            after = Text("name", box.left, text.y, f"{name},", "end")
        else:
            continue
        yield after, box_of(after)


def _is_free(box: Box, *, frame: Frame, others: Sequence[Box]) -> bool:
    return _inside(box, frame) and not any(box.overlaps(other) for other in others)


def _beside(name: str, *, x: float, y: float) -> Iterator[tuple[Text, Box]]:
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
        text = Text("name", text_x, text_y, name, anchor)
        yield text, box_of(text)


def _inside(box: Box, frame: Frame) -> bool:
    return box.left >= frame.left and box.right <= frame.right and box.top >= frame.top and box.bottom <= frame.bottom


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
