"""Patterns around marked cells, or copies of a shape at them."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from evaluator.arc.grids import Grid
from evaluator.arc.mini.canvas import Dice, canvas, polyomino
from evaluator.arc.mini.cells import COLOURS, DIAGONAL, STRAIGHT, Cell, cells_of, colours_of, letter, painted, regions
from evaluator.arc.mini.rules import Family, Rule, program_of

_COPY = "copy"
_PATTERNS: Mapping[str, tuple[Cell, ...]] = MappingProxyType({
    "plus": STRAIGHT, "cross": DIAGONAL, "ring": (*STRAIGHT, *DIAGONAL), "row": ((0, -1), (0, 1)),
    "column": ((-1, 0), (1, 0)),
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp(Rule):
    """Puts a pattern around each cell of a colour, or copies the largest object to it."""

    marker: int
    """Colour of the marked cells."""
    pattern: str
    """Name of a pattern of cells around a marked one; `copy`: the largest object, its top left corner on the marker."""
    paint: int = 0
    """Colour of pattern or copies; 0: the marker's for a pattern, the object's for a copy."""

    def apply(self, grid: Grid) -> Grid | None:
        """See `Rule`. None if coloured cells are in the way, or a copy does not fit."""
        if self.marker not in colours_of(grid):
            return None
        coloured = cells_of(grid)
        marked = [cell for cell, colour in coloured.items() if colour == self.marker]
        if self.pattern == _COPY:
            return self._copied(grid, marked=marked)
        made: dict[Cell, int] = {}
        for row, col in marked:
            for down, right in _PATTERNS[self.pattern]:
                cell = (row + down, col + right)
                if cell in coloured:
                    return None
                if 0 <= cell[0] < len(grid) and 0 <= cell[1] < len(grid[0]):
                    made[cell] = self.paint or self.marker
        return painted(grid, made)

    def _copied(self, grid: Grid, *, marked: list[Cell]) -> Grid | None:
        largest = max(len(region.cells) for region in regions(grid))
        shape, *others = [region for region in regions(grid) if len(region.cells) == largest]
        if others or shape.colour == self.marker:
            return None
        free = {(row, col) for row, line in enumerate(grid) for col, cell in enumerate(line) if not cell}
        made: dict[Cell, int] = {}
        for top, left in marked:
            covered = {(top + row, left + col) for row in range(shape.height) for col in range(shape.width)}
            if not covered - {(top, left)} <= free - made.keys():
                return None
            made |= dict.fromkeys(covered, 0)
            moved = [(row - shape.top + top, col - shape.left + left) for row, col in shape.cells]
            made |= dict.fromkeys(moved, self.paint or shape.colour)
        return painted(grid, made)

    def program(self) -> str:
        marker = letter(self.marker)
        if self.pattern == _COPY:
            painting = [f"change_object_color(shape, {letter(self.paint)})"] if self.paint else []
            return program_of(
                "shape = max(get_objects(grid), key=lambda obj: obj['cell_count'])",
                *painting,
                f"for pos in get_pixel_coords(grid)[{marker}]:",
                "    shape['tl'] = pos",
                "    fill_object(grid, shape)",
                "return grid",
            )
        return program_of(
            f"for row, col in get_pixel_coords(grid)[{marker}]:",
            f"    for down, right in {list(_PATTERNS[self.pattern])}:",
            f"        fill_value(grid, (row + down, col + right), {letter(self.paint or self.marker)})",
            "return grid",
        )


class StampFamily(Family[Stamp]):
    """Marked cells, with a shape to copy or with other cells."""

    name: ClassVar[str] = "stamp"
    words: ClassVar[str] = "put a pattern around the cells of a colour, or copy an object to them"
    kinds: ClassVar[tuple[str, ...]] = ("lines", "ring", "pattern, painted", "copy", "copy, painted")

    def draw_rule(self, dice: Dice, kind: str) -> Stamp:
        marker, paint = dice.some_of(COLOURS, count=2)
        if kind.startswith(_COPY):
            pattern = _COPY
        else:
            pattern = "ring" if kind == "ring" else dice.one_of([name for name in _PATTERNS if name != "ring"])
        painted_too = kind.endswith("painted") or (kind == "ring" and dice.chance(50))
        return Stamp(marker=marker, pattern=pattern, paint=paint if painted_too else 0)

    def draw_input(self, dice: Dice, rule: Stamp) -> Grid | None:
        drawn = canvas(dice, least=7, most=11)
        others = dice.some_of([colour for colour in COLOURS if colour not in {rule.marker, rule.paint}], count=2)
        if rule.pattern == _COPY:
            shape = polyomino(dice, cells=dice.between(3, 5))
            drawn.place(dice, shape=shape, colour=dice.one_of(others))
        for _ in range(dice.between(1, 3)):
            drawn.place(dice, shape=[(0, 0)], colour=rule.marker, gap=2)
        for _ in range(dice.between(1, 2)):
            drawn.place(dice, shape=[(0, 0)], colour=dice.one_of(others), gap=1)
        return drawn.grid()

    def rules(self, *, read: Collection[int], written: Collection[int]) -> Iterator[Stamp]:
        for marker in read:
            for pattern in (*_PATTERNS, _COPY):
                for paint in (0, *written):
                    yield Stamp(marker=marker, pattern=pattern, paint=paint)
