"""InterCode's reward of a result (Yang et al. 2023, section 3.2 and its released `sql_env.py`), and what differs here.

With A the rows of the planner's result and G those of the gold query, both as multisets of texts:

    overlap = |A intersect G| / |A union G|      intersection and union of multisets; 1 if both are empty
    order   = Kendall's tau-b of the shared rows, paired by place: the i-th of the planner's result with the i-th of
              the gold's, where rows are ranked by their texts
    reward  = overlap * order, in [-1, 1]

Edge cases:

- Shared rows are taken from the front: of a row that one result has 3 times and the other 2 times, the first two.
- No shared row: overlap is 0, and so is the reward.
- Tau is not defined for one shared row, or where all are equal. Then the reward is the overlap, as released.
- Rows that are equal are ties in both rankings, which tau-b allows for.
- A failure has the reward 0, whatever the gold is. If the gold query itself fails, so has every result.
- A result that was cut off is compared by the rows that were read.

The released code rounds the reward to two digits, so that 0.995 is a success. Here only 1 is one: equal rows, in equal
order. It also counts order where the gold query has no ORDER BY, and so does the reward here, because the paper does;
`is_success_unordered` is for boards that do not.

Texts of rows: the released code compares Python's texts of MySQL's types, where 2 and a decimal 2 differ. Here numbers
have 12 significant digits, so that the order of a sum does not matter, and a real number differs from an integer.
"""

from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from evaluator.lumos.sql.outcome import Cell, Failure, Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Reward:
    """How a result agrees with that of the gold query."""

    value: float
    """The reward, in [-1, 1]."""
    overlap: float
    """In [0, 1]."""
    order: float | None
    """Kendall's tau-b, in [-1, 1]; None where it is not defined."""
    is_success: bool
    """The same rows in the same order."""
    is_success_unordered: bool
    """The same rows in any order."""


FAILED = Reward(value=0.0, overlap=0.0, order=None, is_success=False, is_success_unordered=False)


def reward(*, answer: Result | Failure, gold: Result | Failure) -> Reward:
    """The reward of an answer against the result of the gold query."""
    if isinstance(answer, Failure) or isinstance(gold, Failure):
        return FAILED
    rows, right = [row_text(row) for row in answer.rows], [row_text(row) for row in gold.rows]
    counts, right_counts = Counter(rows), Counter(right)
    shared = counts & right_counts
    union = (counts | right_counts).total()
    overlap = shared.total() / union if union else 1.0
    order = kendall_tau(_kept(rows, shared=shared), _kept(right, shared=shared))
    is_cut = answer.is_cut or gold.is_cut
    is_same = counts == right_counts and not is_cut
    return Reward(
        value=overlap if order is None else overlap * order,
        overlap=overlap,
        order=order,
        is_success=is_same and rows == right,
        is_success_unordered=is_same,
    )


def row_text(row: Sequence[Cell]) -> str:
    """The text by which rows are compared: reals with 12 significant digits, texts in quotes."""
    return f"({', '.join(map(_cell_text, row))})"


def _cell_text(cell: Cell) -> str:
    if not isinstance(cell, float):
        return repr(cell)
    written = f"{cell + 0.0:.12g}"  # Minus zero is zero.
    return written if any(character in written for character in ".en") else f"{written}.0"


def _kept(rows: Sequence[str], *, shared: Counter[str]) -> list[str]:
    """The shared rows of a result in its order."""
    left = shared.copy()
    kept = []
    for row in rows:
        if left[row] > 0:
            left[row] -= 1
            kept.append(row)
    return kept


def kendall_tau(first: Sequence[str], second: Sequence[str]) -> float | None:
    """Kendall's tau-b of two equally long sequences, paired by place and ranked by value (Kendall 1945).

    Returns:
        A value in [-1, 1], exactly 1 for equal sequences; None if either has no two values that differ.
    """
    total = len(first) * (len(first) - 1) // 2
    ties, other_ties = _pairs(first), _pairs(second)
    if ties == total or other_ties == total:
        return None
    if list(first) == list(second):
        return 1.0
    both = _pairs(list(zip(first, second, strict=True)))
    discordant = _discordant(first, second)
    concordant = total - discordant - ties - other_ties + both
    return (concordant - discordant) / sqrt((total - ties) * (total - other_ties))


def _pairs(values: Sequence[object]) -> int:
    """Pairs of equal values."""
    return sum(count * (count - 1) // 2 for count in Counter(values).values())


def _discordant(first: Sequence[str], second: Sequence[str]) -> int:
    """Pairs that one sequence orders strictly one way and the other strictly the other way."""
    seen: list[str] = []
    count = 0
    for _, value in sorted(zip(first, second, strict=True)):
        # Of the values before in the first order, those that are greater; ties of the first come in ascending order.
        count += len(seen) - bisect_right(seen, value)
        insort(seen, value)
    return count
