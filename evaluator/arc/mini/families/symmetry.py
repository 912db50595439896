"""Mirroring a grid, joining the mirror image, and completing a symmetric figure."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from evaluator.arc.grids import Grid
from evaluator.arc.mini.canvas import Dice
from evaluator.arc.mini.cells import COLOURS
from evaluator.arc.mini.rules import Family, Rule, program_of


class Way(StrEnum):
    """Use of the mirror image."""

    FLIP = "flip"
    """It is the output."""
    APPEND = "append"
    """It follows the grid."""
    PREPEND = "prepend"
    """It precedes the grid."""
    COMPLETE = "complete"
    """Its cells fill blank ones."""


_COLUMNS, _ROWS, _BOTH = "columns", "rows", "both"


def _mirrored(grid: Grid, axis: str) -> Grid:
    return tuple(row[::-1] for row in grid) if axis == _COLUMNS else grid[::-1]


def _completed(grid: Grid, axis: str) -> Grid | None:
    """None if two mirrored cells have different colours."""
    other = _mirrored(grid, axis)
    cells = [list(zip(*rows, strict=True)) for rows in zip(grid, other, strict=True)]
    if any(cell and image and cell != image for row in cells for cell, image in row):
        return None
    return tuple(tuple(cell or image for cell, image in row) for row in cells)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirror(Rule):
    """One mirror axis, or two for completing a figure."""

    way: Way
    axis: str
    """Reversed dimension: `columns`, `rows`, or `both` one after the other."""

    def apply(self, grid: Grid) -> Grid | None:
        if self.way is Way.COMPLETE:
            figure: Grid | None = grid
            for axis in (_COLUMNS, _ROWS) if self.axis == _BOTH else (self.axis,):
                figure = None if figure is None else _completed(figure, axis)
            return figure
        other = _mirrored(grid, self.axis)
        if self.way is Way.FLIP:
            return other
        first, second = (grid, other) if self.way is Way.APPEND else (other, grid)
        if self.axis == _ROWS:
            return first + second
        return tuple(left + right for left, right in zip(first, second, strict=True))

    def program(self) -> str:
        if self.way is Way.COMPLETE:
            mirrors = {_COLUMNS: "(row, cols - 1 - col)", _ROWS: "(rows - 1 - row, col)"}
            places = [*mirrors.values(), "(rows - 1 - row, cols - 1 - col)"]
            return program_of(
                "rows, cols = get_size(grid)",
                "for color, coords in get_pixel_coords(grid).items():",
                "    for row, col in coords:",
                *(
                    f"        fill_value(grid, {place}, color)"
                    for place in (places if self.axis == _BOTH else [mirrors[self.axis]])
                ),
                "return grid",
            )
        flip = f"{'horizontal_flip' if self.axis == _COLUMNS else 'vertical_flip'}(grid)"
        if self.way is Way.FLIP:
            return program_of(f"return {flip}")
        first, second = ("grid", "other") if self.way is Way.APPEND else ("other", "grid")
        if self.axis == _ROWS:
            return program_of(f"other = {flip}", f"return {first} + {second}")
        joined = f"return [{first}[row] + {second}[row] for row in range(len(grid))]"
        return program_of(f"other = {flip}", joined)

    def steps(self) -> str:
        if self.way is not Way.FLIP:
            return ""
        return f"R1 = {'horizontal_flip' if self.axis == _COLUMNS else 'vertical_flip'}(INPUT)"


class SymmetryFamily(Family[Mirror]):
    """Dense grids; for completing, a half or a quarter of a figure."""

    name: ClassVar[str] = "symmetry"
    words: ClassVar[str] = "reverse rows or columns, add the mirror image, or complete a symmetric figure"
    kinds: ClassVar[tuple[str, ...]] = ("flip", "append", "prepend", "complete", "complete both")
    keeps_size: ClassVar[bool] = False

    def draw_rule(self, dice: Dice, kind: str) -> Mirror:
        if kind == "complete both":
            return Mirror(way=Way.COMPLETE, axis=_BOTH)
        return Mirror(way=Way(kind), axis=dice.one_of((_COLUMNS, _ROWS)))

    def draw_input(self, dice: Dice, rule: Mirror) -> Grid | None:
        palette = dice.some_of(COLOURS, count=dice.between(2, 3))
        if rule.way is not Way.COMPLETE:
            longest = 7 if rule.way is Way.FLIP else 5
            rows, cols = dice.between(3, longest), dice.between(3, longest)
            return _filled(dice, rows=rows, cols=cols, height=rows, width=cols, palette=palette, percent=60)
        rows, cols = dice.between(5, 10), dice.between(5, 10)
        height = rows // 2 if rule.axis != _COLUMNS else rows
        width = cols // 2 if rule.axis != _ROWS else cols
        grid = _filled(dice, rows=rows, cols=cols, height=height, width=width, palette=palette, percent=50)
        grid = _mirrored(grid, _COLUMNS) if dice.chance(50) else grid
        return _mirrored(grid, _ROWS) if dice.chance(50) else grid

    def rules(self, *, read: Collection[int], written: Collection[int]) -> Iterator[Mirror]:
        del read, written
        for way in Way:
            for axis in (_COLUMNS, _ROWS, _BOTH) if way is Way.COMPLETE else (_COLUMNS, _ROWS):
                yield Mirror(way=way, axis=axis)


def _filled(
    dice: Dice, *, rows: int, cols: int, height: int, width: int, palette: list[int], percent: int
) -> Grid:  # fmt: skip
    """A grid whose top left part has this percentage of random cells."""
    return tuple(
        tuple(
            dice.one_of(palette) if row < height and col < width and dice.chance(percent) else 0 for col in range(cols)
        )
        for row in range(rows)
    )
