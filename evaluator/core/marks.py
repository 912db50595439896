"""Marks: what people point at in the pictures of a request, as resources of the request.

A mark is a resource named `point-1`, `box-1` or `stroke-1`, of the type that tools take: points are a `point` (text
such as `12,30; 40,8`: column and row), a box is a `bbox`, a stroke a rough `mask`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise

import numpy as np

from evaluator.core.canonical_json import JsonValue
from evaluator.core.tools.types import ResourceType
from evaluator.core.values import Box, Boxes, Image, Mask, Masks, Value

MOST_MARKS = 8
"""Of a request."""
LARGEST = 16_383
"""Of a coordinate, in pixels."""
_STROKE_RADIUS = 2
"""Of a stroke, in pixels of the picture that experts see."""

Place = tuple[int, int]
"""Column and row of a pixel, from 0."""


class MarkKind(StrEnum):
    """What somebody drew."""

    POINT = "point"
    """One to three points on one thing."""
    BOX = "box"
    """Two opposite corners."""
    STROKE = "stroke"
    """A line of 2 to 64 points over one thing."""


MARK_TYPES: Mapping[MarkKind, ResourceType] = {
    MarkKind.POINT: ResourceType.POINT, MarkKind.BOX: ResourceType.BBOX, MarkKind.STROKE: ResourceType.MASK
}  # fmt: skip
"""The type of each kind of mark as a resource."""
MOST_PLACES: Mapping[MarkKind, tuple[int, int]] = {
    MarkKind.POINT: (1, 3), MarkKind.BOX: (2, 2), MarkKind.STROKE: (2, 64)
}  # fmt: skip
"""Fewest and most places of a mark."""


class MarkError(ValueError):
    """A mark cannot be used; the message is a sentence that says which and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A mark in a picture, in pixels of the picture as it was given.

    Raises:
        MarkError: it has too few or too many places, or one that lies in no picture.
    """

    kind: MarkKind
    picture: str
    at: tuple[Place, ...]

    def __post_init__(self) -> None:
        fewest, most = MOST_PLACES[self.kind]
        if not fewest <= len(self.at) <= most:
            wanted = f"{fewest}" if fewest == most else f"{fewest} to {most}"
            raise MarkError(f"A {self.kind} has {wanted} places, not {len(self.at)}.")
        if any(not 0 <= side <= LARGEST for place in self.at for side in place):
            raise MarkError(f"Places are column and row of a pixel, whole numbers from 0 to {LARGEST:,}.")

    def to_json(self) -> dict[str, JsonValue]:
        """As one object: `type`, `picture` and `at`."""
        return {"type": self.kind.value, "picture": self.picture, "at": [list(place) for place in self.at]}

    def given(self, *, size: Place) -> dict[str, JsonValue]:
        """For planners and pages: `to_json` with the width and height of the picture as `size`."""
        return {**self.to_json(), "size": list(size)}

    def value(self, *, size: Place) -> Value:
        """The value of the resource, of the kind's type in `MARK_TYPES`, in a picture of this width and height."""
        match self.kind:
            case MarkKind.POINT:
                return "; ".join(f"{x},{y}" for x, y in self.at)
            case MarkKind.BOX:
                columns, rows = zip(*self.at, strict=True)
                sides = (min(columns), min(rows), max(columns) + 1, max(rows) + 1)
                return Boxes(size, (Box("", *map(float, sides)),))
            case MarkKind.STROKE:
                return Masks(size, (Mask("", _stroke(self.at, size=size)),))


def mark_of(kind: str, *, picture: str, at: Sequence[Sequence[int]]) -> Mark:
    """A mark of checked or stored values.

    Raises:
        MarkError: there is no such kind, or a place has not two sides.
    """
    if kind not in list(MarkKind):
        raise MarkError(f"There is no mark {kind[:20]!r}; there are: {', '.join(MarkKind)}.")
    if any(len(place) != 2 for place in at):
        raise MarkError("A place is a column and a row.")
    return Mark(kind=MarkKind(kind), picture=picture, at=tuple((place[0], place[1]) for place in at))


def given_mark(value: JsonValue) -> Mark | None:
    """The mark in `task.given` of a request (`planner/1`); None for a value that is none."""
    match value:
        case {"type": str(kind), "picture": str(picture), "at": list(places)}:
            try:
                return mark_of(kind, picture=picture, at=[_pair(place) for place in places])
            except MarkError:
                return None
    return None


def _pair(value: JsonValue) -> Place:
    match value:
        case [int(x), int(y)]:
            return x, y
    raise MarkError("A place is a column and a row.")


def in_words(mark: Mark) -> str:
    """Where a mark is, such as `at 12,30 in a.png` (column, row)."""
    places = [f"{x},{y}" for x, y in mark.at]
    match mark.kind:
        case MarkKind.POINT:
            return f"at {'; '.join(places)} in {mark.picture}"
        case MarkKind.BOX:
            return f"from corner {places[0]} to corner {places[1]} in {mark.picture}"
        case MarkKind.STROKE:
            return f"along {'; '.join(places)} in {mark.picture}"


def named(marks: Sequence[Mark]) -> dict[str, Mark]:
    """The marks by the names of their resources: `point-1`, `point-2`, `box-1`.

    Raises:
        MarkError: there are too many.
    """
    if len(marks) > MOST_MARKS:
        raise MarkError(f"A request has at most {MOST_MARKS} marks; this has {len(marks)}.")
    counts: Counter[MarkKind] = Counter()
    found = {}
    for mark in marks:
        counts[mark.kind] += 1
        found[f"{mark.kind}-{counts[mark.kind]}"] = mark
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Marks of a request, in pixels of the pictures that experts see."""

    resources: Mapping[str, tuple[ResourceType, Value]]
    """Type and value by name."""
    given: Mapping[str, JsonValue]
    """For planners and pages, by name: `type`, `picture`, its `size`, and `at`."""


def placed(
    marks: Sequence[Mark],
    *,
    files: Mapping[str, tuple[ResourceType, Value]],
    sizes: Mapping[str, Place],
) -> Placed:
    """The marks as resources.

    Args:
        marks: in pixels of the pictures as they were given.
        files: type and value by name.
        sizes: width and height of pictures as they were given, where these were scaled down.

    Raises:
        MarkError: a mark is in no picture of the request, or outside of it.
    """
    resources: dict[str, tuple[ResourceType, Value]] = {}
    given: dict[str, JsonValue] = {}
    for name, mark in named(marks).items():
        kind, picture = files.get(mark.picture, (None, None))
        if kind is not ResourceType.IMAGE or not isinstance(picture, Image):
            raise MarkError(f"{name} is in {mark.picture!r}, which is not a picture of this request.")
        width, height = sizes.get(mark.picture, picture.size)
        if any(x >= width or y >= height for x, y in mark.at):
            raise MarkError(f"{name} lies outside {mark.picture}, which has {width}x{height} pixels.")
        at = tuple((x * picture.width // width, y * picture.height // height) for x, y in mark.at)
        scaled = replace(mark, at=at)
        resources[name] = (MARK_TYPES[mark.kind], scaled.value(size=picture.size))
        given[name] = scaled.given(size=picture.size)
    return Placed(resources=resources, given=given)


def _stroke(at: Sequence[Place], *, size: Place) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Pixels within `_STROKE_RADIUS` of the line, bool of shape (height, width)."""
    rows, columns = np.mgrid[0 : size[1], 0 : size[0]]
    inside = np.zeros(size[::-1], dtype=np.bool_)
    for (x1, y1), (x2, y2) in pairwise(at):
        length = max(1, (x2 - x1) ** 2 + (y2 - y1) ** 2)
        share = np.clip(((columns - x1) * (x2 - x1) + (rows - y1) * (y2 - y1)) / length, 0, 1)
        distance = (columns - x1 - share * (x2 - x1)) ** 2 + (rows - y1 - share * (y2 - y1)) ** 2
        inside |= distance <= _STROKE_RADIUS**2
    return inside
