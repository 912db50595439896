"""Taking away what disturbs, and mending what is damaged."""

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
    """Drops the cells of a colour, then small objects, then fills the box of each object that is left."""

    colour: int = 0
    """0: no colour is dropped."""
    least: int = 0
    """Cells of the smallest objects that are kept; 0: all are."""
    mends: bool = False

    def apply(self, grid: Grid) -> Grid | None:
        """See `Rule`. Nothing is said where boxes overlap."""
        if self.colour and self.colour not in colours_of(grid):
            return None
        found = tuple(tuple(0 if cell == self.colour else cell for cell in row) for row in grid)
        if self.least:
            small = [region for region in regions(found) if len(region.cells) < self.least]
            found = painted(found, {cell: 0 for region in small for cell in region.cells})
        return _mended(found) if self.mends else found

    def program(self) -> str:
        """See `Rule`."""
        lines = [f"grid = replace(grid, {letter(self.colour)}, '.')"] if self.colour else []
        if self.least:
            lines += [
                "for obj in get_objects(grid):",
                f"    if obj['cell_count'] < {self.least} and not object_contains_color(obj, '$'):",
                "        fill_object(grid, change_object_color(obj, '.'))",
            ]
        return program_of(*lines, *(_MEND if self.mends else ("return grid",)))

    def steps(self) -> str:
        """See `Rule`."""
        return "" if self.least or self.mends else f"R1 = replace(INPUT, {letter(self.colour)}, '.')"


def _mended(grid: Grid) -> Grid | None:
    made: dict[Cell, int] = {}
    for region in regions(grid, diagonal=True):
        for cell in box(region.top, region.left, height=region.height, width=region.width):
            if cell in made:
                return None
            made[cell] = region.colour
    return painted(grid, made)


class DenoiseFamily(Family[Denoise]):
    """Rectangles with damages, and noise around."""

    name: ClassVar[str] = "denoise"
    words: ClassVar[str] = "drop a colour or small objects, and mend damaged rectangles"
    kinds: ClassVar[tuple[str, ...]] = ("colour", "small", "mend", "colour, mend", "small, mend")

    def draw_rule(self, dice: Dice, kind: str) -> Denoise:
        """See `Family`."""
        return Denoise(
            colour=dice.one_of(COLOURS) if kind.startswith("colour") else 0,
            least=dice.between(2, 4) if kind.startswith("small") else 0, mends=kind.endswith("mend"),
        )  # fmt: skip

    def draw_input(self, dice: Dice, rule: Denoise) -> Grid | None:
        """See `Family`."""
        drawn = canvas(dice, least=8, most=12)
        palette = dice.some_of([one for one in COLOURS if one != rule.colour], count=2)
        inside: list[Cell] = []
        for _ in range(dice.between(2, 3)):
            height, width = dice.between(3, 5), dice.between(3, 5)
            shape = box(0, 0, height=height, width=width)
            place = drawn.place(dice, shape=shape, colour=dice.one_of(palette))
            if place is None:
                continue
            hurt = dice.some_of(shape, count=dice.between(1, len(shape) // 5))
            inside += [(place[0] + row, place[1] + col) for row, col in hurt]
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
        """See `Family`."""
        del written
        for mends in (False, True):
            for colour in read:
                yield Denoise(colour=colour, mends=mends)
            for least in (2, 3, 4, 5):
                yield Denoise(least=least, mends=mends)
        yield Denoise(mends=True)


def _is_mendable(grid: Grid, *, rule: Denoise) -> bool:
    """Whether each rectangle is still in one piece, also straight, once noise has gone."""
    noise = [cell for cell, colour in cells_of(grid).items() if colour == rule.colour]
    found = painted(grid, dict.fromkeys(noise, 0))
    return not rule.mends or len(regions(found)) == len(regions(found, diagonal=True))
