"""Functions of programs that use a learnt table; see `evaluator.arc.planners.search.grids`."""

from typing import Any

from evaluator.arc.planners.search.grids import Grid


def by_one(first: Any, table: dict[Any, str]) -> Grid:
    """The table's value for each cell's label."""
    return [[table[a] for a in row] for row in first]


def by_two(first: Any, second: Any, table: dict[Any, str]) -> Grid:
    """The table's value for each cell's two labels."""
    return [[table[pair] for pair in zip(left, right)] for left, right in zip(first, second)]  # noqa: B905


def by_three(first: Any, second: Any, third: Any, table: dict[Any, str]) -> Grid:
    """The table's value for each cell's three labels."""
    return [[table[three] for three in zip(a, b, c)] for a, b, c in zip(first, second, third)]  # noqa: B905
