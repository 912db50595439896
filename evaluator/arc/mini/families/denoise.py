"""Removing noise, and repairing damaged rectangles."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import ClassVar

from evaluator.arc.grids import Grid
from evaluator.arc.mini.canvas import Dice, box, canvas, polyomino
from evaluator.arc.mini.cells import COLOURS, Cell, cells_of, colours_of, letter, painted, regions
from evaluator.arc.mini.rules import Family, Rule, program_of

_MEND = (
    "out = copy.deepcopy(grid)",
    "for obj in get_objects(grid, diag=True):",
    "    if not object_contains_color(obj, '$'):",
    "        row, col = obj['tl']",
    "        rows, cols = obj['size']",
    "        fill_rect(out, (row, col), (row + rows - 1, col + cols - 1), get_object_color(obj))",
    "return out",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Denoise(Rule):
    """Removes the cells of a colour, then small objects, then fills the bounding box of each remaining object."""

    colour: int = 0
    """Colour to remove; 0: none."""
    least: int = 0
    """Minimum number of cells of a remaining object; 0: no minimum."""
    mends: bool = False
    """Whether bounding boxes are filled."""

    def apply(self, grid: Grid) -> Grid | None:
        """See `Rule`. None if bounding boxes overlap."""
        if self.colour and self.colour not in colours_of(grid):
            return None
        grid = tuple(tuple(0 if cell == self.colour else cell for cell in row) for row in grid)
        if self.least:
            small = [region for region in regions(grid) if len(region.cells) < self.least]
            grid = painted(grid, {cell: 0 for region in small for cell in region.cells})
        if not self.mends:
            return grid
        made: dict[Cell, int] = {}
        for region in regions(grid, diagonal=True):
            for cell in box(region.top, region.left, height=region.height, width=region.width):
                if cell in made:
                    return None
                made[cell] = region.colour
        return painted(grid, made)

    def program(self) -> str:
        lines = [f"grid = replace(grid, {letter(self.colour)}, '.')"] if self.colour else []
        if self.least:
            lines += [
                "for obj in get_objects(grid):",
                f"    if obj['cell_count'] < {self.least} and not object_contains_color(obj, '$'):",
                "        fill_object(grid, change_object_color(obj, '.'))",
            ]
        return program_of(*lines, *(_MEND if self.mends else ("return grid",)))

    def steps(self) -> str:
        return "" if self.least or self.mends else f"R1 = replace(INPUT, {letter(self.colour)}, '.')"


class DenoiseFamily(Family[Denoise]):
    """Damaged rectangles, surrounded by noise."""

    name: ClassVar[str] = "denoise"
    words: ClassVar[str] = "drop a colour or small objects, and mend damaged rectangles"
    kinds: ClassVar[tuple[str, ...]] = ("colour", "small", "mend", "colour, mend", "small, mend")

    def draw_rule(self, dice: Dice, kind: str) -> Denoise:
        return Denoise(
            colour=dice.one_of(COLOURS) if kind.startswith("colour") else 0,
            least=dice.between(2, 4) if kind.startswith("small") else 0, mends=kind.endswith("mend"),
        )  # fmt: skip

    def draw_input(self, dice: Dice, rule: Denoise) -> Grid | None:
        drawn = canvas(dice, least=8, most=12)
        palette = dice.some_of([colour for colour in COLOURS if colour != rule.colour], count=2)
        inside: list[Cell] = []
        for _ in range(dice.between(2, 3)):
            height, width = dice.between(3, 5), dice.between(3, 5)
            shape = box(0, 0, height=height, width=width)
            place = drawn.place(dice, shape=shape, colour=dice.one_of(palette))
            if place is None:
                continue
            damaged = dice.some_of(shape, count=dice.between(1, len(shape) // 5))
            inside += [(place[0] + row, place[1] + col) for row, col in damaged]
        drawn.put(inside if rule.colour or rule.mends else [], rule.colour)
        if rule.least:
            for _ in range(dice.between(2, 4)):
                shape = polyomino(dice, cells=dice.between(1, rule.least))
                drawn.place(dice, shape=shape, colour=dice.one_of(palette))
        elif rule.colour:
            for _ in range(dice.between(2, 5)):
                drawn.place(dice, shape=[(0, 0)], colour=rule.colour)
        return drawn.grid() if _is_mendable(drawn.grid(), rule=rule) else None

    def rules(self, *, read: Collection[int], written: Collection[int]) -> Iterator[Denoise]:
        del written
        for mends in (False, True):
            for colour in read:
                yield Denoise(colour=colour, mends=mends)
            for least in (2, 3, 4, 5):
                yield Denoise(least=least, mends=mends)
        yield Denoise(mends=True)


def _is_mendable(grid: Grid, *, rule: Denoise) -> bool:
    """Whether each rectangle is still connected, without diagonals, after the noise is removed."""
    noise = [cell for cell, colour in cells_of(grid).items() if colour == rule.colour]
    clean = painted(grid, dict.fromkeys(noise, 0))
    return not rule.mends or len(regions(clean)) == len(regions(clean, diagonal=True))
