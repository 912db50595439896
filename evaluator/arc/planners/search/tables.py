"""Maps from the labels of a cell to its colour, learnt from the demonstrations.

A table counts only if it fits every cell of every demonstration and has an entry for every cell of the test inputs.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any

from evaluator.arc.planners.search.bench import Made, size
from evaluator.arc.planners.search.grids import Grid
from evaluator.arc.planners.search.terms import Term

_FUNCTIONS = {1: "by_one", 2: "by_two", 3: "by_three"}
Flat = list[Any]
"""The labels of all cells of all demonstrations, one after the other."""


def flat(grids: Sequence[Any]) -> Flat:
    """All cells."""
    return list(chain.from_iterable(chain.from_iterable(grids)))


def learnt(keys: Sequence[Any], wanted: Sequence[str]) -> dict[Any, str] | None:
    """The map from keys to the wanted values; None if a key would need two."""
    table: dict[Any, str] = {}
    for key, value in zip(keys, wanted, strict=True):
        if table.setdefault(key, value) != value:
            return None
    return table


def covers(table: dict[Any, str], parts: Sequence[Made], *, tests: int) -> bool:
    """Whether the table has an entry for every cell of the tests."""
    shapes = [[size(grid) for grid in part.values[-tests:]] for part in parts]
    if any(shape != shapes[0] for shape in shapes):
        return False
    columns = [flat(part.values[-tests:]) for part in parts]
    keys = columns[0] if len(parts) == 1 else zip(*columns, strict=True)
    return all(key in table for key in keys)


def applied(table: dict[Any, str], parts: Sequence[Made], *, tests: int) -> tuple[Grid, ...]:
    """The table's outputs for the tests."""
    made = []
    for place in range(-tests, 0):
        grids = [part.values[place] for part in parts]
        rows = zip(*grids, strict=True)
        made.append([[table[one[0] if len(parts) == 1 else one] for one in zip(*row, strict=True)] for row in rows])
    return tuple(made)


def term_of(table: dict[Any, str], parts: Sequence[Made]) -> Term:
    """The application of a table as a term."""
    return Term(_FUNCTIONS[len(parts)], tuple(part.term for part in parts), (_Literal(table),))


class _Literal(dict[Any, str]):
    """A table as an option of a term, which needs a hash."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self.items()))
