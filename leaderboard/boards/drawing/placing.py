"""Where marks and their names go, so that none hides another. No database."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from leaderboard.boards.drawing.picture import SMALL, Line, Text, text_width

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
