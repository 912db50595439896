"""Small random numbers from a stream."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import numpy as np

T = TypeVar("T")
_AT_ONCE = 256


class Dice:
    """Integers and choices of a stream. Raw numbers are taken in bulk: an input of a grid needs dozens of draws, and
    redrawing until it belongs to its split four times as many."""

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
        """True in so many of a hundred cases."""
        return self.below(100) < percent

    def one_of(self, values: Sequence[T]) -> T:
        """One at random."""
        return values[self.below(len(values))]

    def some_of(self, values: Sequence[T], *, count: int) -> list[T]:
        """So many different ones, in random order."""
        left = list(values)
        return [left.pop(self.below(len(left))) for _ in range(count)]
