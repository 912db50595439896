"""Grids: rows of colours, as integers in ARC's files and as letters in programs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Grid: TypeAlias = tuple[tuple[int, ...], ...]
"""Rows of colours, each 0 (blank) to 9; 1 to 30 rows and columns."""

MOST_ROWS = 30
"""Also the largest number of columns."""
COLOURS = 10
LETTERS = ".abcdefghi"
"""The letter of each colour in programs, blank first."""
_COLOUR_OF_LETTER = {letter: colour for colour, letter in enumerate(LETTERS)} | dict.fromkeys("$j", 0)
"""A program may also leave transparent cells, and the tenth colour, in place of blank."""
_SHOWN = 40


class GridError(ValueError):
    """A value is no grid; the message is one sentence that says where, and what would be right."""


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
    """The wrong cells in reading order; none where the sizes differ."""

    @property
    def is_equal(self) -> bool:
        """Whether there is no difference."""
        return self.expected_size == self.actual_size and not self.cells


def grid_of(value: object, *, name: str = "grid") -> Grid:
    """A grid from JSON: a list of rows of integers.

    Args:
        value: lists or tuples.
        name: what the message calls the grid, such as `training pair 2: output`.

    Raises:
        GridError: the value is no grid.
    """
    return _read(value, name=name, colour=_colour_of_number, right="a colour is an integer 0 to 9")


def grid_of_letters(value: object, *, name: str = "output") -> Grid:
    """The grid that a program returned: a list of lists of letters; `$` and `j` are blank.

    Raises:
        GridError: the value is no grid of letters.
    """
    return _read(value, name=name, colour=_colour_of_letter, right="a cell is '.' or a letter 'a' to 'i'")


def letters_of(grid: Grid) -> list[list[str]]:
    """A grid as programs get it: a new list of lists of letters."""
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
            CellDifference(row=row, column=column, expected=right, actual=found)
            for row, pair in enumerate(zip(expected, actual, strict=True))
            for column, (right, found) in enumerate(zip(*pair, strict=True))
            if right != found
        )
    return GridDifference(expected_size=sizes[0], actual_size=sizes[1], cells=cells)


def _read(value: object, *, name: str, colour: Callable[[object], int | None], right: str) -> Grid:
    """The grid of a list of rows, each cell of which `colour` can read."""
    rows: list[tuple[int, ...]] = []
    for number, row in enumerate(_rows(value, name=name)):
        cells: list[int] = []
        for place, cell in enumerate(row):
            found = colour(cell)
            if found is None:
                raise GridError(f"{name}: row {number}, column {place} is {_shown(cell)}; {right}")
            cells.append(found)
        rows.append(tuple(cells))
    return tuple(rows)


def _colour_of_number(cell: object) -> int | None:
    # `True` is an integer to Python, but no colour.
    return cell if type(cell) is int and 0 <= cell < COLOURS else None


def _colour_of_letter(cell: object) -> int | None:
    return _COLOUR_OF_LETTER.get(cell) if isinstance(cell, str) else None


def _rows(value: object, *, name: str) -> Sequence[Sequence[object]]:
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
    return value


def _shown(value: object) -> str:
    """A value in a message, cut short; values of other types may have a representation of any length."""
    if isinstance(value, str | int | float | bool | None):
        text = repr(value[: _SHOWN + 1] if isinstance(value, str) else value)
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    return f"of type {type(value).__name__}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Demonstration:
    """A grid and what the transformation makes of it."""

    input: Grid
    output: Grid
