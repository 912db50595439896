"""Rays from cells to the border."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from evaluator.arc.grids import Demonstration, Grid
from evaluator.arc.mini.canvas import Dice, canvas
from evaluator.arc.mini.cells import COLOURS, DIAGONAL, Cell, cells_of, colours_of, letter, painted
from evaluator.arc.mini.rules import Family, Rule, program_of

_WAYS: Mapping[str, tuple[Cell, ...]] = MappingProxyType({
    "up": ((-1, 0),), "down": ((1, 0),), "left": ((0, -1),), "right": ((0, 1),),
    "row": ((0, -1), (0, 1)), "column": ((-1, 0), (1, 0)), "cross": ((-1, 0), (1, 0), (0, -1), (0, 1)),
    "diagonals": DIAGONAL,
})  # fmt: skip
_STRAIGHT = ("up", "down", "left", "right")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shoot(Rule):
    """Cells send rays of their colour to the border, over blank cells only."""

    ways: str
    """Name of a set of directions."""
    source: int = 0
    """Colour of the cells that send rays; 0: all."""
    stops: bool = False
    """Whether a ray ends at the first coloured cell; otherwise it continues behind it."""

    def apply(self, grid: Grid) -> Grid | None:
        """See `Rule`. None if rays of two colours meet."""
        if self.source and self.source not in colours_of(grid):
            return None
        rows, cols = len(grid), len(grid[0])
        made: dict[Cell, int] = {}
        for (row, col), colour in cells_of(grid).items():
            if self.source not in {0, colour}:
                continue
            for down, right in _WAYS[self.ways]:
                place = (row + down, col + right)
                while 0 <= place[0] < rows and 0 <= place[1] < cols:
                    if grid[place[0]][place[1]]:
                        if self.stops:
                            break
                    elif made.setdefault(place, colour) != colour:
                        return None
                    place = (place[0] + down, place[1] + right)
        return painted(grid, made)

    def program(self) -> str:
        ray = [
            f"for down, right in {list(_WAYS[self.ways])}:",
            "    for step in range(1, rows + cols):",
            "        pos = (row + step * down, col + step * right)",
            "        if not (0 <= pos[0] < rows and 0 <= pos[1] < cols):",
            "            break",
            "        if grid[pos[0]][pos[1]] != '.':",
            f"            {'break' if self.stops else 'continue'}",
            "        fill_value(out, pos, color)",
        ]
        if self.source:
            start = [f"color = {letter(self.source)}", "for row, col in get_pixel_coords(grid)[color]:"]
            depth = 1
        else:
            start = ["for color, coords in get_pixel_coords(grid).items():", "    for row, col in coords:"]
            depth = 2
        body = [f"{'    ' * depth}{line}" for line in ray]
        return program_of("rows, cols = get_size(grid)", "out = copy.deepcopy(grid)", *start, *body, "return out")


class RaysFamily(Family[Shoot]):
    """Single cells."""

    name: ClassVar[str] = "rays"
    words: ClassVar[str] = "send rays from cells to the border, until others stop them or past those"
    kinds: ClassVar[tuple[str, ...]] = ("one way", "line", "one colour, one way", "cross", "diagonals")

    def draw_rule(self, dice: Dice, kind: str) -> Shoot:
        ways = {"line": ("row", "column"), "cross": ("cross",), "diagonals": ("diagonals",)}.get(kind, _STRAIGHT)
        source = 0 if kind in {"one way", "line"} else dice.one_of(COLOURS)
        return Shoot(ways=dice.one_of(ways), source=source, stops=dice.chance(50))

    def draw_input(self, dice: Dice, rule: Shoot) -> Grid | None:
        drawn = canvas(dice, least=6, most=10)
        places = [(row, col) for row in range(drawn.rows) for col in range(drawn.cols)]
        palette = dice.some_of([colour for colour in COLOURS if colour != rule.source], count=3)
        sources = dice.between(1, 3) if rule.source else 0
        for number, cell in enumerate(dice.some_of(places, count=sources + dice.between(3, 6))):
            drawn.put([cell], rule.source if number < sources else dice.one_of(palette))
        return drawn.grid()

    def may_explain(self, pair: Demonstration) -> bool:
        """See `Family`: coloured cells keep their colours."""
        return cells_of(pair.input).items() <= cells_of(pair.output).items()

    def rules(self, *, read: Collection[int], written: Collection[int]) -> Iterator[Shoot]:
        del written
        for ways in _WAYS:
            for source in (0, *read):
                yield Shoot(ways=ways, source=source)
                yield Shoot(ways=ways, source=source, stops=True)
