"""Marks in pictures, drawn over them."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evaluator.core.canonical_json import JsonValue
from evaluator.core.marks import Mark, MarkKind, given_mark, in_words


class DrawnMark(NamedTuple):
    """A mark in a picture."""

    name: str
    mark: Mark
    radius: float
    """Of a point's ring, in pixels."""

    @property
    def kind(self) -> str:
        """`point`, `box` or `stroke`."""
        return self.mark.kind.value

    @property
    def places(self) -> tuple[tuple[int, int], ...]:
        """Column and row of each place."""
        return self.mark.at

    @property
    def words(self) -> str:
        """What it is and where."""
        return f"{self.name} {in_words(self.mark)}"

    @property
    def line(self) -> str:
        """Its places as SVG writes points; the four corners of a box."""
        places = self.mark.at
        if self.mark.kind is MarkKind.BOX:
            (left, top), (right, bottom) = places
            places = ((left, top), (right, top), (right, bottom), (left, bottom), (left, top))
        return " ".join(f"{x + 0.5},{y + 0.5}" for x, y in places)


class MarkedPicture(NamedTuple):
    """A picture with its marks."""

    url: str
    width: int
    height: int
    marks: tuple[DrawnMark, ...]

    @property
    def words(self) -> str:
        """All marks in words, as the text alternative."""
        return "; ".join(mark.words for mark in self.marks)


def given_marks(values: Mapping[str, JsonValue]) -> Mapping[str, Mark]:
    """The marks among the values that a request gives (`task.given`), by name."""
    found = {name: given_mark(value) for name, value in values.items()}
    return {name: mark for name, mark in found.items() if mark is not None}


def marked(*, url: str, picture: str, size: Sequence[int], marks: Mapping[str, Mark]) -> MarkedPicture:
    """A picture with those of the marks that are in it.

    Args:
        url: of the picture.
        picture: its name in the request.
        size: width and height in which places are counted.
        marks: of the request, by name.
    """
    width, height = size
    own = (DrawnMark(name, mark, max(size) / 24) for name, mark in marks.items() if mark.picture == picture)
    return MarkedPicture(url, width, height, tuple(own))
