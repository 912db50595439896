"""The protocol of scorers, and the rounding of scores. No torch here."""

from collections.abc import Sequence
from typing import Protocol

from evaluator.core.values import Value


class Scorer(Protocol):
    """Compares outputs with references, pair by pair. A score depends only on its pair."""

    def score(self, *, outputs: Sequence[Value], references: Sequence[Value]) -> list[float]:
        """One score for each pair; higher is better.

        Raises:
            ValueError: there are not as many outputs as references.
            TypeError: a value is an image where a text is compared, or the reverse.
        """
        ...


DECIMALS = 6
"""Of a recorded score."""


def rounded(scores: Sequence[float]) -> list[float]:
    """Scores rounded for records. Their last bits depend on the number of threads, and equal plans must tie."""
    return [round(score, DECIMALS) for score in scores]


def require_pairs(*, outputs: Sequence[Value], references: Sequence[Value]) -> None:
    """Raise `ValueError` if the lists have different lengths."""
    if len(outputs) != len(references):
        raise ValueError(f"{len(outputs)} outputs cannot be compared with {len(references)} references")
