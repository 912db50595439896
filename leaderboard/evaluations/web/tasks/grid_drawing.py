"""Grids of colours as vector pictures that need neither scripts nor style attributes."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

Grid: TypeAlias = tuple[tuple[int, ...], ...]
"""Rows of colours, each 0 (blank) to 9."""

COLOURS = 10
MOST_SIDE = 60
"""Rows and columns that are drawn; larger values are no grids."""
LETTERS = ".abcdefghi"
_LONGEST_SIDE = 240
"""Pixels."""
_CELLS = (8, 28)
"""The smallest and the largest cell, in pixels: whole pixels keep edges crisp."""


class ColourPath(NamedTuple):
    """All cells of one colour."""

    colour: int
    path: str
    """One unit for each cell."""


class DrawnGrid(NamedTuple):
    """A grid with everything that its picture needs."""

    rows: int
    columns: int
    width: int
    """Pixels."""
    height: int
    paths: tuple[ColourPath, ...]
    """Without blank, which is the ground."""
    lines: str
    """Between the cells."""
    crosses: str
    """On the cells that differ from another grid."""
    text: str
    """Rows of letters."""

    @property
    def size(self) -> str:
        """Rows and columns in words."""
        return size_in_words(self.rows, self.columns)


def size_in_words(rows: int, columns: int) -> str:
    """Rows and columns, as `3 \N{MULTIPLICATION SIGN} 4`."""
    return f"{rows} \N{MULTIPLICATION SIGN} {columns}"


def grid_of(value: object) -> Grid | None:
    """A grid of lists of integers, or of texts of letters; None where the value is none."""
    if not isinstance(value, list | tuple) or not 1 <= len(value) <= MOST_SIDE:
        return None
    rows = [_row(row) for row in value]
    found = tuple(row for row in rows if row is not None)
    if len(found) < len(rows) or not 1 <= len(found[0]) <= MOST_SIDE:
        return None
    return found if all(len(row) == len(found[0]) for row in found) else None


def draw_grid(grid: Grid, *, against: Grid | None = None) -> DrawnGrid:
    """The picture of a grid; crosses mark the cells that differ from `against`, if that has the same size."""
    rows, columns = len(grid), len(grid[0])
    cell = min(_CELLS[1], max(_CELLS[0], _LONGEST_SIDE // max(rows, columns)))
    return DrawnGrid(
        rows=rows, columns=columns, width=cell * columns, height=cell * rows,
        paths=tuple(_paths(grid)),
        lines="".join([f"M0 {y}h{columns}" for y in range(1, rows)] + [f"M{x} 0v{rows}" for x in range(1, columns)]),
        crosses="".join(
            f"M{x + 0.25} {y + 0.25}l.5 .5m0 -.5l-.5 .5" for y, x in different_cells(grid, against=against)
        ),
        text="\n".join("".join(LETTERS[cell] for cell in row) for row in grid),
    )  # fmt: skip


def different_cells(grid: Grid, *, against: Grid | None) -> list[tuple[int, int]]:
    """Row and column of each cell with another colour; none where sizes differ."""
    if against is None or (len(grid), len(grid[0])) != (len(against), len(against[0])):
        return []
    return [
        (y, x)
        for y, (row, other) in enumerate(zip(grid, against, strict=True))
        for x, (mine, right) in enumerate(zip(row, other, strict=True))
        if mine != right
    ]


def difference_in_words(grid: Grid, *, expected: Grid) -> str:
    """How an output differs from the right one, as a sentence; empty where it does not."""
    if (sizes := [size_in_words(len(one), len(one[0])) for one in (grid, expected)])[0] != sizes[1]:
        return f"The size is {sizes[0]} instead of {sizes[1]}."
    if not (cells := different_cells(grid, against=expected)):
        return ""
    return f"{len(cells)} of {len(grid) * len(grid[0])} cells {_verb(len(cells))}, marked with a cross."


def _paths(grid: Grid) -> Iterable[ColourPath]:
    for colour in range(1, COLOURS):
        if path := "".join(_runs(grid, colour=colour)):
            yield ColourPath(colour, path)


def _runs(grid: Grid, *, colour: int) -> Iterable[str]:
    """Neighbours of a row together: a grid of 30 x 30 then takes a few kilobytes."""
    for y, row in enumerate(grid):
        start = 0
        while start < len(row):
            end = start
            while end < len(row) and row[end] == colour:
                end += 1
            if end > start:
                yield f"M{start} {y}h{end - start}v1h-{end - start}z"
            start = max(end, start + 1)


def _row(value: object) -> tuple[int, ...] | None:
    if isinstance(value, str):
        found: Sequence[int] = [LETTERS.find(letter) for letter in value]
    elif isinstance(value, list | tuple):
        found = [_cell(cell) for cell in value]
    else:
        return None
    return tuple(found) if all(0 <= cell < COLOURS for cell in found) else None


def _cell(value: object) -> int:
    if isinstance(value, str):
        return LETTERS.find(value) if len(value) == 1 else -1
    # `True` is an integer to Python, but no colour.
    return value if type(value) is int else -1


def _verb(count: int) -> str:
    return "differs" if count == 1 else "differ"
