"""What experts find in a picture or a clip: labels, boxes and masks. Their JSON form is strict in both directions."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from evaluator.core.canonical_json import JsonValue

MOST_ITEMS = 1000
"""Of one list of findings."""
LONGEST_LABEL = 200
MOST_PIXELS = 2**24
"""Of all masks of one picture together: a few bytes could claim terabytes otherwise."""
LARGEST_SIDE = 4096
"""Of the picture that findings are about."""
_CORNERS = 4


class FindingError(ValueError):
    """JSON that is no list of findings; the message says what is wrong where."""


@dataclass(frozen=True, slots=True)
class Label:
    """One name for what is shown."""

    name: str
    score: float = 1.0
    """In [0, 1]."""


@dataclass(frozen=True, slots=True)
class Labels:
    """Names for what a picture or a clip shows, the surest first."""

    items: tuple[Label, ...]

    def to_json(self) -> dict[str, JsonValue]:
        """The canonical form."""
        return {"kind": "labels", "items": [{"label": one.name, "score": _score(one.score)} for one in self.items]}


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle with the name of what is in it. Sides are in pixels from the upper left corner."""

    label: str
    left: float
    top: float
    right: float
    bottom: float
    score: float = 1.0
    """In [0, 1]."""

    @property
    def corners(self) -> tuple[float, float, float, float]:
        """Left, top, right, bottom."""
        return self.left, self.top, self.right, self.bottom


@dataclass(frozen=True, slots=True)
class Boxes:
    """Boxes in a picture, the surest first."""

    size: tuple[int, int]
    """Width and height of the picture in pixels."""
    items: tuple[Box, ...]

    def to_json(self) -> dict[str, JsonValue]:
        """The canonical form; sides are rounded to a hundredth of a pixel."""
        items: list[JsonValue] = [
            {"label": one.label, "score": _score(one.score), "box": [round(float(side), 2) for side in one.corners]}
            for one in self.items
        ]
        return {"kind": "boxes", "size": list(self.size), "items": items}


@dataclass(frozen=True, slots=True, eq=False)
class Mask:
    """The pixels of one thing."""

    label: str
    """Empty where nobody named it."""
    pixels: npt.NDArray[np.bool_]
    """Shape (height, width). Shared: do not change it."""
    score: float = 1.0
    """In [0, 1]."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mask):
            return NotImplemented
        return (self.label, self.score) == (other.label, other.score) and np.array_equal(self.pixels, other.pixels)

    def __hash__(self) -> int:
        return hash((self.label, self.pixels.tobytes()))


@dataclass(frozen=True, slots=True)
class Masks:
    """Masks of a picture, the surest first; all have its size."""

    size: tuple[int, int]
    """Width and height of the picture in pixels."""
    items: tuple[Mask, ...]

    def union(self) -> npt.NDArray[np.bool_]:
        """The pixels of any of them, shape (height, width)."""
        pixels = np.zeros(self.size[::-1], dtype=np.bool_)
        for one in self.items:
            pixels |= one.pixels
        return pixels

    def to_json(self) -> dict[str, JsonValue]:
        """The canonical form; pixels are run lengths, row by row, beginning with those outside."""
        items: list[JsonValue] = [
            {"label": one.label, "score": _score(one.score), "runs": [*_runs(one.pixels)]} for one in self.items
        ]
        return {"kind": "masks", "size": list(self.size), "items": items}


Findings = Labels | Boxes | Masks


def boxes_of(masks: Masks) -> Boxes:
    """The smallest boxes around masks that are not empty."""
    found = []
    for one in masks.items:
        rows, columns = np.nonzero(one.pixels)
        if len(rows):
            sides = (float(columns.min()), float(rows.min()), float(columns.max() + 1), float(rows.max() + 1))
            found.append(Box(one.label, *sides, score=one.score))
    return Boxes(masks.size, tuple(found))


def findings_from_json(value: object) -> Findings:
    """The inverse of `to_json`.

    Raises:
        FindingError: the value is something else.
    """
    if not isinstance(value, Mapping):
        raise FindingError(f"findings are a JSON object, not {type(value).__name__}")
    kind = value.get("kind")
    wanted = {"kind", "items"} if kind == "labels" else {"kind", "size", "items"}
    if kind not in ("labels", "boxes", "masks") or set(value) != wanted:
        raise FindingError('findings have "kind" (labels, boxes or masks), "items", and "size" of boxes and masks')
    items = value["items"]
    if not isinstance(items, list) or len(items) > MOST_ITEMS:
        raise FindingError(f'"items" is a list of at most {MOST_ITEMS}')
    if kind == "labels":
        return Labels(tuple(Label(*_named(item, also=())) for item in items))
    size = _size(value["size"])
    if kind == "boxes":
        return Boxes(size, tuple(_box(item, size=size) for item in items))
    if len(items) * size[0] * size[1] > MOST_PIXELS:
        raise FindingError(
            f"{len(items)} masks of {size[0]}x{size[1]} pixels are too many; all have {MOST_PIXELS} at most"
        )
    return Masks(size, tuple(_mask(item, size=size) for item in items))


def _score(score: float) -> float:
    return round(float(score), 3)


def _runs(pixels: npt.NDArray[np.bool_]) -> list[int]:
    flat = pixels.ravel()
    changes = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    ends = [0, *changes.tolist(), flat.size]
    runs = [int(stop - start) for start, stop in pairwise(ends)]
    return [0, *runs] if flat.size and flat[0] else runs


def _size(value: object) -> tuple[int, int]:
    if isinstance(value, list) and len(value) == 2 and all(type(side) is int for side in value):
        width, height = value
        if 1 <= width <= LARGEST_SIDE and 1 <= height <= LARGEST_SIDE:
            return width, height
    raise FindingError(f'"size" is width and height, whole numbers from 1 to {LARGEST_SIDE}')


def _named(item: object, *, also: Sequence[str]) -> tuple[str, float]:
    if not isinstance(item, Mapping) or set(item) != {"label", "score", *also}:
        raise FindingError(f"an item has {', '.join(['label', 'score', *also])} and nothing else")
    label, score = item["label"], item["score"]
    if not isinstance(label, str) or len(label) > LONGEST_LABEL:
        raise FindingError(f"a label is a text of at most {LONGEST_LABEL} characters")
    if not _is_number(score) or not 0 <= score <= 1:
        raise FindingError("a score is a number from 0 to 1")
    return label, float(score)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _box(item: object, *, size: tuple[int, int]) -> Box:
    label, score = _named(item, also=("box",))
    assert isinstance(item, Mapping)
    sides = item["box"]
    if not isinstance(sides, list) or len(sides) != _CORNERS or not all(map(_is_number, sides)):
        raise FindingError("a box is left, top, right and bottom in pixels")
    left, top, right, bottom = map(float, sides)
    if not (0 <= left <= right <= size[0] and 0 <= top <= bottom <= size[1]):
        raise FindingError(f"the box {sides} does not lie in a picture of {size[0]}x{size[1]} pixels")
    return Box(label, left, top, right, bottom, score)


def _mask(item: object, *, size: tuple[int, int]) -> Mask:
    label, score = _named(item, also=("runs",))
    assert isinstance(item, Mapping)
    runs, pixels = item["runs"], size[0] * size[1]
    if not isinstance(runs, list) or not all(type(run) is int and run >= 0 for run in runs) or sum(runs) != pixels:
        raise FindingError(f"the runs of a mask are whole numbers that sum up to {pixels} pixels")
    inside = [index % 2 == 1 for index in range(len(runs))]
    flat = np.repeat(np.asarray(inside, dtype=np.bool_), np.asarray(runs, dtype=np.int64))
    return Mask(label, flat.reshape(size[::-1]), score)


def merged(labels: Sequence[str]) -> list[tuple[str, int]]:
    """Each label with how often it occurs, sorted."""
    return [(label, len(list(group))) for label, group in groupby(sorted(labels))]
