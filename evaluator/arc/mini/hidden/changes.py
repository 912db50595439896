"""Changes of a whole grid, each with its inverse, so that what preceded a change can be found from its result."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType
from typing import ClassVar

from evaluator.arc.grids import Grid
from evaluator.arc.mini.canvas import Dice
from evaluator.arc.mini.cells import COLOURS, letter

_ROWS, _COLUMNS = "rows", "columns"


class Change(ABC):
    """A change of a grid, implemented twice: as a function, and as lines of a program."""

    __slots__ = ()

    keeps_size: ClassVar[bool] = True
    """Whether it permutes or recolours cells, so that every grid is the result of one."""

    @abstractmethod
    def apply(self, grid: Grid) -> Grid:
        """The changed grid."""

    @abstractmethod
    def undo(self, grid: Grid) -> Grid | None:
        """The grid whose change this is; None if there is none."""

    @abstractmethod
    def lines(self) -> tuple[str, ...]:
        """Lines of a program that change `grid`, a list of rows of letters."""


@dataclass(frozen=True, slots=True)
class Enlarge(Change):
    """Each cell becomes a block."""

    down: int
    right: int
    keeps_size = False

    def apply(self, grid: Grid) -> Grid:
        return tuple(
            tuple(cell for cell in row for _ in range(self.right)) for row in grid for _ in range(self.down)
        )  # fmt: skip

    def undo(self, grid: Grid) -> Grid | None:
        small = tuple(row[:: self.right] for row in grid[:: self.down])
        return small if self.apply(small) == grid else None

    def lines(self) -> tuple[str, ...]:
        row = f"[cell for cell in row for right in range({self.right})]"
        return (f"grid = [{row} for row in grid for down in range({self.down})]",)


@dataclass(frozen=True, slots=True)
class Frame(Change):
    """A border of one colour around the grid."""

    colour: int
    keeps_size = False

    def apply(self, grid: Grid) -> Grid:
        border = ((self.colour,) * (len(grid[0]) + 2),)
        return (*border, *((self.colour, *row, self.colour) for row in grid), *border)

    def undo(self, grid: Grid) -> Grid | None:
        inside = tuple(row[1:-1] for row in grid[1:-1])
        return inside if inside and inside[0] and self.apply(inside) == grid else None

    def lines(self) -> tuple[str, ...]:
        colour = letter(self.colour)
        return (
            "rows, cols = get_size(grid)",
            f"framed = fill_rect(empty_grid(rows + 2, cols + 2), (0, 0), (rows + 1, cols + 1), {colour})",
            "for row in range(rows):",
            "    for col in range(cols):",
            "        framed[row + 1][col + 1] = grid[row][col]",
            "grid = framed",
        )


@dataclass(frozen=True, slots=True)
class Repeat(Change):
    """The grid twice, side by side or one below the other."""

    axis: str
    keeps_size = False

    def apply(self, grid: Grid) -> Grid:
        return grid + grid if self.axis == _ROWS else tuple(row + row for row in grid)

    def undo(self, grid: Grid) -> Grid | None:
        half = grid[: len(grid) // 2] if self.axis == _ROWS else tuple(row[: len(row) // 2] for row in grid)
        return half if half and half[0] and self.apply(half) == grid else None

    def lines(self) -> tuple[str, ...]:
        if self.axis == _ROWS:
            return ("grid = grid + copy.deepcopy(grid)",)
        return ("grid = [row + row for row in grid]",)


@dataclass(frozen=True, slots=True)
class Stretch(Change):
    """A blank row between all rows, and a blank column between all columns."""

    keeps_size = False

    def apply(self, grid: Grid) -> Grid:
        rows = [tuple(part for cell in row for part in (cell, 0))[:-1] for row in grid]
        return tuple(part for row in rows for part in (row, (0,) * len(row)))[:-1]

    def undo(self, grid: Grid) -> Grid | None:
        small = tuple(row[::2] for row in grid[::2])
        return small if self.apply(small) == grid else None

    def lines(self) -> tuple[str, ...]:
        return (
            "rows, cols = get_size(grid)",
            "wide = empty_grid(2 * rows - 1, 2 * cols - 1)",
            "for color, coords in get_pixel_coords(grid).items():",
            "    for row, col in coords:",
            "        fill_value(wide, (2 * row, 2 * col), color)",
            "grid = wide",
        )


@dataclass(frozen=True, slots=True)
class Roll(Change):
    """Rows or columns move on, and those that leave the grid enter on the other side."""

    axis: str
    by: int

    def apply(self, grid: Grid) -> Grid:
        return _rolled(grid, axis=self.axis, by=self.by)

    def undo(self, grid: Grid) -> Grid | None:
        return _rolled(grid, axis=self.axis, by=-self.by)

    def lines(self) -> tuple[str, ...]:
        if self.axis == _ROWS:
            return ("rows = len(grid)", f"grid = [grid[(row - {self.by}) % rows] for row in range(rows)]")
        return (
            "cols = len(grid[0])",
            f"grid = [[row[(col - {self.by}) % cols] for col in range(cols)] for row in grid]",
        )


def _rolled(grid: Grid, *, axis: str, by: int) -> Grid:
    if axis == _ROWS:
        start = -by % len(grid)
        return grid[start:] + grid[:start]
    start = -by % len(grid[0])
    return tuple(row[start:] + row[:start] for row in grid)


@dataclass(frozen=True, slots=True)
class Shear(Change):
    """Each row moves to the right by its number, or each column down, around the grid."""

    axis: str

    def apply(self, grid: Grid) -> Grid:
        return self._moved(grid, sign=1)

    def undo(self, grid: Grid) -> Grid | None:
        return self._moved(grid, sign=-1)

    def _moved(self, grid: Grid, *, sign: int) -> Grid:
        lines = grid if self.axis == _ROWS else tuple(zip(*grid, strict=True))
        moved = [_rolled((line,), axis=_COLUMNS, by=sign * place)[0] for place, line in enumerate(lines)]
        return tuple(moved) if self.axis == _ROWS else tuple(zip(*moved, strict=True))

    def lines(self) -> tuple[str, ...]:
        place = "grid[row][(col - row) % cols]" if self.axis == _ROWS else "grid[(row - col) % rows][col]"
        return ("rows, cols = get_size(grid)", f"grid = [[{place} for col in range(cols)] for row in range(rows)]")


@dataclass(frozen=True, slots=True)
class Alternate(Change):
    """Every second row or column is reversed."""

    axis: str

    def apply(self, grid: Grid) -> Grid:
        lines = grid if self.axis == _ROWS else tuple(zip(*grid, strict=True))
        turned = tuple(line[::-1] if place % 2 else line for place, line in enumerate(lines))
        return turned if self.axis == _ROWS else tuple(zip(*turned, strict=True))

    def undo(self, grid: Grid) -> Grid | None:
        return self.apply(grid)

    def lines(self) -> tuple[str, ...]:
        if self.axis == _ROWS:
            return ("grid = [grid[row][::-1] if row % 2 else grid[row] for row in range(len(grid))]",)
        return (
            "rows, cols = get_size(grid)",
            "grid = [[grid[rows - 1 - row if col % 2 else row][col] for col in range(cols)] for row in range(rows)]",
        )


@dataclass(frozen=True, slots=True)
class Exchange(Change):
    """Two colours change places."""

    one: int
    other: int

    def apply(self, grid: Grid) -> Grid:
        swapped = {self.one: self.other, self.other: self.one}
        return tuple(tuple(swapped.get(cell, cell) for cell in row) for row in grid)

    def undo(self, grid: Grid) -> Grid | None:
        return self.apply(grid)

    def lines(self) -> tuple[str, ...]:
        one, other = letter(self.one), letter(self.other)
        return (
            f"swapped = {{{one}: {other}, {other}: {one}}}",
            "grid = [[swapped.get(cell, cell) for cell in row] for row in grid]",
        )


_BLOCKS = ((1, 2), (2, 1), (2, 2))
_ROLLS = tuple((axis, by) for axis in (_ROWS, _COLUMNS) for by in (-2, -1, 1, 2))
_DRAWN: Mapping[str, Callable[[Dice], Change]] = MappingProxyType({
    "enlarge": lambda dice: Enlarge(*dice.one_of(_BLOCKS)),
    "frame": lambda dice: Frame(dice.one_of(COLOURS)),
    "repeat": lambda dice: Repeat(dice.one_of((_ROWS, _COLUMNS))),
    "stretch": lambda _: Stretch(),
    "roll": lambda dice: Roll(*dice.one_of(_ROLLS)),
    "shear": lambda dice: Shear(dice.one_of((_ROWS, _COLUMNS))),
    "alternate": lambda dice: Alternate(dice.one_of((_ROWS, _COLUMNS))),
    "exchange": lambda dice: Exchange(*sorted(dice.some_of(COLOURS, count=2))),
})  # fmt: skip
NAMES = tuple(_DRAWN)
"""Of all kinds of changes."""


def draw_change(dice: Dice, name: str) -> Change:
    """Draw a change of a kind."""
    return _DRAWN[name](dice)


def changes(*, colours: Collection[int]) -> Iterator[Change]:
    """All changes with these colours."""
    yield from (Enlarge(*block) for block in _BLOCKS)
    yield from (Frame(colour) for colour in colours)
    yield Stretch()
    yield from (Roll(*roll) for roll in _ROLLS)
    for axis in (_ROWS, _COLUMNS):
        yield from (Repeat(axis), Shear(axis), Alternate(axis))
    yield from (Exchange(*pair) for pair in combinations(sorted(colours), 2))
