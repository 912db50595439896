"""Regions of grids, for rules. Independent of the helpers that gold programs call."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from evaluator.arc.grids import LETTERS, Grid

Cell = tuple[int, int]
"""Row and column, from 0."""
STRAIGHT: tuple[Cell, ...] = ((-1, 0), (1, 0), (0, -1), (0, 1))
DIAGONAL: tuple[Cell, ...] = ((-1, -1), (-1, 1), (1, -1), (1, 1))
COLOURS = tuple(range(1, 10))
"""All colours except blank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """Connected cells of one colour."""

    colour: int
    cells: frozenset[Cell]
    top: int
    left: int
    bottom: int
    right: int
    """The bounding box, inclusive on all four sides."""

    @property
    def height(self) -> int:
        """Height of the bounding box."""
        return self.bottom - self.top + 1

    @property
    def width(self) -> int:
        """Width of the bounding box."""
        return self.right - self.left + 1


@lru_cache(maxsize=2048)
def regions(grid: Grid, *, diagonal: bool = False, blank: bool = False) -> tuple[Region, ...]:
    """The regions of a grid in reading order of their first cells.

    Args:
        grid: any grid.
        diagonal: whether cells that touch at a corner are connected.
        blank: regions of blank cells instead of coloured ones.
    """
    steps = (*STRAIGHT, *DIAGONAL) if diagonal else STRAIGHT
    unvisited = {(row, col) for row, line in enumerate(grid) for col, cell in enumerate(line) if (cell == 0) is blank}
    result = []
    for start in sorted(unvisited):
        if start not in unvisited:
            continue
        colour, cells, frontier = grid[start[0]][start[1]], {start}, [start]
        unvisited.discard(start)
        while frontier:
            row, col = frontier.pop()
            for down, right in steps:
                near = (row + down, col + right)
                if near in unvisited and grid[near[0]][near[1]] == colour:
                    unvisited.discard(near)
                    cells.add(near)
                    frontier.append(near)
        result.append(region_of(cells, colour=colour))
    return tuple(result)


def region_of(cells: Iterable[Cell], *, colour: int) -> Region:
    """The region of these cells."""
    members = frozenset(cells)
    rows, cols = [row for row, _ in members], [col for _, col in members]
    return Region(colour=colour, cells=members, top=min(rows), left=min(cols), bottom=max(rows), right=max(cols))


@lru_cache(maxsize=2048)
def holes(grid: Grid) -> tuple[Region, ...]:
    """Regions of blank cells that do not touch the border of the grid."""
    rows, cols = len(grid), len(grid[0])
    return tuple(
        region
        for region in regions(grid, blank=True)
        if region.top > 0 and region.left > 0 and region.bottom < rows - 1 and region.right < cols - 1
    )


@lru_cache(maxsize=2048)
def cells_of(grid: Grid) -> Mapping[Cell, int]:
    """The coloured cells in reading order."""
    return MappingProxyType(
        {(row, col): cell for row, line in enumerate(grid) for col, cell in enumerate(line) if cell}
    )


@lru_cache(maxsize=2048)
def colours_of(grid: Grid) -> frozenset[int]:
    """The colours of a grid except blank."""
    return frozenset(cell for line in grid for cell in line if cell)


def painted(grid: Grid, cells: Mapping[Cell, int]) -> Grid:
    """The grid with these cells, all inside it, painted."""
    rows = [list(row) for row in grid]
    for (row, col), colour in cells.items():
        rows[row][col] = colour
    return tuple(map(tuple, rows))


def cropped(grid: Grid, box: Region) -> Grid:
    """The part of a grid that a region's box covers."""
    return tuple(row[box.left : box.right + 1] for row in grid[box.top : box.bottom + 1])


def turned(grid: Grid) -> Grid:
    """The grid rotated clockwise by 90 degrees."""
    return tuple(zip(*grid[::-1], strict=True))


def letter(colour: int) -> str:
    """A colour as a Python literal in programs."""
    return repr(LETTERS[colour])
