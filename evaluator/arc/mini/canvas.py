"""Drawing of inputs: random numbers, and non-touching shapes on a blank grid."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from evaluator.arc.grids import Grid
from evaluator.arc.mini.cells import STRAIGHT, Cell

if TYPE_CHECKING:
    import numpy as np


T = TypeVar("T")
_AT_ONCE = 256


class Dice:
    """Integers and choices from a stream. Raw numbers are fetched in bulk: a grid needs dozens of draws, and four times
    as many including the redraws until it belongs to its split."""

    def __init__(self, rng: "np.random.Generator") -> None:
        self._rng = rng
        self._raw: list[int] = []

    def below(self, bound: int) -> int:
        """An integer from 0 to `bound` - 1."""
        if not self._raw:
            self._raw = [int(value) >> 32 for value in self._rng.bit_generator.random_raw(_AT_ONCE)]
        return self._raw.pop() * bound >> 32

    def between(self, low: int, high: int) -> int:
        """An integer from `low` to `high`, both included."""
        return low + self.below(high - low + 1)

    def chance(self, percent: int) -> bool:
        """True with this probability."""
        return self.below(100) < percent

    def one_of(self, values: Sequence[T]) -> T:
        """A random value."""
        return values[self.below(len(values))]

    def some_of(self, values: Sequence[T], *, count: int) -> list[T]:
        """A sample without replacement, in random order."""
        left = list(values)
        return [left.pop(self.below(len(left))) for _ in range(count)]


_TRIES = 12
MOST_CELLS = 6
"""Maximum size of a random shape: too small to enclose a blank cell, which `get_objects` would list as an object."""


class Canvas:
    """A grid under construction. The boxes of its shapes are disjoint, as `fill_object` also pastes blank cells."""

    def __init__(self, rows: int, cols: int) -> None:
        self.rows, self.cols = rows, cols
        self._grid = [[0] * cols for _ in range(rows)]
        self._taken: set[Cell] = set()

    def put(self, cells: Iterable[Cell], colour: int) -> None:
        """Colour cells, free or not."""
        for row, col in cells:
            self._grid[row][col] = colour

    def room(self, dice: Dice, *, height: int, width: int, gap: int = 1, margin: int = 0) -> Cell | None:
        """Reserve a free box, and return its top left cell; None if no attempt succeeds.

        Args:
            dice: random numbers.
            height: height of the box.
            width: width of the box.
            gap: blank cells between boxes.
            margin: blank cells between the box and the border.
        """
        if height + 2 * margin > self.rows or width + 2 * margin > self.cols:
            return None
        for _ in range(_TRIES):
            top = dice.between(margin, self.rows - height - margin)
            left = dice.between(margin, self.cols - width - margin)
            near = box(top - gap, left - gap, height=height + 2 * gap, width=width + 2 * gap)
            if self._taken.isdisjoint(near):
                self._taken.update(box(top, left, height=height, width=width))
                return top, left
        return None

    def place(
        self, dice: Dice, *, shape: Sequence[Cell], colour: int, gap: int = 1, margin: int = 0
    ) -> Cell | None:  # fmt: skip
        """Put a shape into a free box, and return the box's top left cell; None if there is no room."""
        height, width = size_of_shape(shape)
        corner = self.room(dice, height=height, width=width, gap=gap, margin=margin)
        if corner is not None:
            self.put(((corner[0] + row, corner[1] + col) for row, col in shape), colour)
        return corner

    def grid(self) -> Grid:
        """The drawn grid."""
        return tuple(map(tuple, self._grid))


def canvas(dice: Dice, *, least: int, most: int) -> Canvas:
    """A blank canvas with side lengths in this range."""
    return Canvas(dice.between(least, most), dice.between(least, most))


def box(top: int, left: int, *, height: int, width: int) -> list[Cell]:
    """The cells of a rectangle in reading order."""
    return [(row, col) for row in range(top, top + height) for col in range(left, left + width)]


def outline(*, height: int, width: int) -> list[Cell]:
    """The border of a rectangle at (0, 0)."""
    cells = box(0, 0, height=height, width=width)
    return [(row, col) for row, col in cells if row in {0, height - 1} or col in {0, width - 1}]


def size_of_shape(shape: Iterable[Cell]) -> tuple[int, int]:
    """Height and width of a shape at (0, 0)."""
    cells = list(shape)
    return max(row for row, _ in cells) + 1, max(col for _, col in cells) + 1


def polyomino(dice: Dice, *, cells: int) -> list[Cell]:
    """A random connected shape at (0, 0) of at most `MOST_CELLS` cells."""
    assert cells <= MOST_CELLS
    shape = [(0, 0)]
    while len(shape) < cells:
        row, col = dice.one_of(shape)
        down, right = dice.one_of(STRAIGHT)
        if (row + down, col + right) not in shape:
            shape.append((row + down, col + right))
    top, left = min(row for row, _ in shape), min(col for _, col in shape)
    return sorted((row - top, col - left) for row, col in shape)
