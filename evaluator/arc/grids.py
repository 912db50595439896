"""Grids: rows of colours, as integers in ARC's files and as letters in programs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, cast

Grid: TypeAlias = tuple[tuple[int, ...], ...]
"""Rows of colours, each 0 (blank) to 9; 1 to 30 rows and columns."""

MOST_ROWS = 30
"""Also the largest number of columns."""
COLOURS = 10
LETTERS = ".abcdefghi"
"""The letter of each colour in programs, blank first."""
_COLOUR_OF_LETTER = {letter: colour for colour, letter in enumerate(LETTERS)} | dict.fromkeys("$j", 0)
"""Transparent cells and the tenth colour in a program's output count as blank."""
_SHOWN = 40


class GridError(ValueError):
    """The value is not a grid; the message names the place and the expected form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellDifference:
    """A cell with a wrong colour."""

    row: int
    column: int
    expected: int
    actual: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GridDifference:
    """How a grid differs from the expected one."""

    expected_size: tuple[int, int]
    actual_size: tuple[int, int]
    cells: tuple[CellDifference, ...]
    """The wrong cells in reading order; empty if the sizes differ."""

    @property
    def is_equal(self) -> bool:
        return self.expected_size == self.actual_size and not self.cells


def grid_of(value: object, *, name: str = "grid") -> Grid:
    """A grid from JSON: a list of rows of integers.

    Args:
        value: lists or tuples.
        name: name of the grid in error messages, such as `training pair 2: output`.

    Raises:
        GridError: the value is not a grid.
    """

    def colour(cell: object) -> int | None:
        # `True` is an integer to Python, but no colour.
        return cell if type(cell) is int and 0 <= cell < COLOURS else None

    return _read(value, name=name, colour=colour, right="a colour is an integer 0 to 9")


def grid_of_letters(value: object, *, name: str = "output") -> Grid:
    """The grid that a program returned: a list of lists of letters; `$` and `j` are blank.

    Raises:
        GridError: the value is not a grid of letters.
    """

    def colour(cell: object) -> int | None:
        return _COLOUR_OF_LETTER.get(cell) if isinstance(cell, str) else None

    return _read(value, name=name, colour=colour, right="a cell is '.' or a letter 'a' to 'i'")


def letters_of(grid: Grid) -> list[list[str]]:
    """A grid as programs receive it: a new list of lists of letters."""
    return [[LETTERS[cell] for cell in row] for row in grid]


def numbers_of(grid: Grid) -> list[list[int]]:
    """A grid as in ARC's files: a new list of lists of integers."""
    return [list(row) for row in grid]


def size_of(grid: Grid) -> tuple[int, int]:
    """The numbers of rows and columns."""
    return len(grid), len(grid[0])


def difference(*, expected: Grid, actual: Grid) -> GridDifference:
    """How a grid differs from the expected one."""
    sizes = size_of(expected), size_of(actual)
    cells: tuple[CellDifference, ...] = ()
    if sizes[0] == sizes[1]:
        cells = tuple(
            CellDifference(row=row, column=column, expected=right, actual=cell)
            for row, pair in enumerate(zip(expected, actual, strict=True))
            for column, (right, cell) in enumerate(zip(*pair, strict=True))
            if right != cell
        )
    return GridDifference(expected_size=sizes[0], actual_size=sizes[1], cells=cells)


def _read(value: object, *, name: str, colour: Callable[[object], int | None], right: str) -> Grid:
    if not isinstance(value, list | tuple):
        raise GridError(f"{name} is {_shown(value)}; a grid is a list of rows")
    if not 1 <= len(value) <= MOST_ROWS:
        raise GridError(f"{name} has {len(value)} rows; a grid has 1 to {MOST_ROWS}")
    for number, row in enumerate(value):
        if not isinstance(row, list | tuple):
            raise GridError(f"{name}: row {number} is {_shown(row)}; a row is a list of cells")
        if not 1 <= len(row) <= MOST_ROWS:
            raise GridError(f"{name}: row {number} has {len(row)} cells; a row has 1 to {MOST_ROWS}")
        if len(row) != len(value[0]):
            raise GridError(f"{name}: row {number} has {len(row)} cells, row 0 has {len(value[0])}; all need as many")
    rows = [[colour(cell) for cell in row] for row in value]
    for number, row in enumerate(rows):
        if None in row:
            place = row.index(None)
            cell = _shown(value[number][place])
            raise GridError(f"{name}: row {number}, column {place} is {cell}; {right}")
    return cast(Grid, tuple(map(tuple, rows)))


def _shown(value: object) -> str:
    """A value in an error message, truncated. Only the type of other values, whose representation may be long."""
    if isinstance(value, str | int | float | bool | None):
        text = repr(value[: _SHOWN + 1] if isinstance(value, str) else value)
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    return f"of type {type(value).__name__}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Demonstration:
    """An input grid and its transformed output."""

    input: Grid
    output: Grid
