"""The part of the hidden grammar that a season speaks: its seed draws structures, wordings and words.

Whoever learns from the tasks of a closed season has not seen all of the next one's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, TypeVar

from evaluator.lumos.mini.draws import HIDDEN_VERSION, Source
from evaluator.miniature.seeds import one_of, some_of

if TYPE_CHECKING:
    import numpy as np

T = TypeVar("T")
_SHARE = 0.6
"""Share of structures and words that a season has."""
_WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Grammar:
    """The grammar of a season."""

    source: Source

    def stream(self, purpose: str, index: int, attempt: int = 0) -> "np.random.Generator":
        """The stream for a purpose and an index; see `Source.stream`."""
        return self.source.stream(f"hidden {HIDDEN_VERSION} {purpose}", index, attempt)

    def part(self, name: str, values: Sequence[T]) -> list[T]:
        """The values that the season has, in its own order; three of five, but at least two.

        Args:
            name: purpose of the values; parts of different names are independent.
            values: all that the grammar has.
        """
        count = min(len(values), max(2, ceil(len(values) * _SHARE)))
        return some_of(self.stream(f"part {name}", 0), values, count=count)

    def wording(self, name: str, wordings: Sequence[T]) -> T:
        """The one wording that the season has for something."""
        return one_of(self.stream(f"wording {name}", 0), wordings)


def number_text(value: int, *, in_words: bool) -> str:
    """A number in digits, or up to twenty in words."""
    return _WORDS[value] if in_words and value < len(_WORDS) else str(value)


def sentence(text: str) -> str:
    """The text with a capital letter at its beginning."""
    return text[:1].upper() + text[1:]
