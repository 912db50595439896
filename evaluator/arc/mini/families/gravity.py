"""Cells that fall to one side."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from evaluator.arc.grids import Grid
from evaluator.arc.mini.canvas import Dice, canvas
from evaluator.arc.mini.cells import COLOURS, colours_of, letter
from evaluator.arc.mini.rules import Family, Rule, program_of

_DOWN, _RIGHT, _UP, _LEFT = range(4)
"""Quarters of a clockwise turn after which the side is at the bottom."""


def _settled(line: Sequence[int], mover: int) -> tuple[int, ...]:
    """The line after its cells have fallen towards its end."""
    settled = [0] * len(line)
    floor = len(line) - 1
    for place in reversed(range(len(line))):
        if line[place] and mover in {0, line[place]}:
            settled[floor] = line[place]
            floor -= 1
        elif line[place]:
            settled[place] = line[place]
            floor = place - 1
    return tuple(settled)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fall(Rule):
    """All cells fall, or those of one colour until others stop them."""

    side: int
    mover: int = 0
    """Falling colour; 0: all."""

    def apply(self, grid: Grid) -> Grid | None:
        if self.mover and self.mover not in colours_of(grid):
            return None
        lines = list(zip(*grid, strict=True)) if self.side in {_DOWN, _UP} else list(grid)
        if self.side in {_DOWN, _RIGHT}:
            fallen = [_settled(line, self.mover) for line in lines]
        else:
            fallen = [_settled(line[::-1], self.mover)[::-1] for line in lines]
        return tuple(zip(*fallen, strict=True)) if self.side in {_DOWN, _UP} else tuple(fallen)

    def program(self) -> str:
        before = [f"grid = rotate_clockwise(grid, {90 * self.side})"] if self.side else []
        after = f"rotate_clockwise(out, {360 - 90 * self.side})" if self.side else "out"
        start = ["rows, cols = get_size(grid)", "out = empty_grid(rows, cols)", "for col in range(cols):"]
        falling = (
            "    floor = rows - 1",
            "    for row in range(rows - 1, -1, -1):",
            f"        if grid[row][col] == {letter(self.mover)}:",
            f"            fill_value(out, (floor, col), {letter(self.mover)})",
            "            floor = floor - 1",
            "        elif grid[row][col] != '.':",
            "            fill_value(out, (row, col), grid[row][col])",
            "            floor = row - 1",
        )
        return program_of(*before, *start, *(falling if self.mover else _PILING), f"return {after}")


_PILING = (
    "    pile = [grid[row][col] for row in range(rows) if grid[row][col] != '.']",
    "    for place in range(len(pile)):",
    "        fill_value(out, (rows - len(pile) + place, col), pile[place])",
)


class GravityFamily(Family[Fall]):
    """Scattered cells."""

    name: ClassVar[str] = "gravity"
    words: ClassVar[str] = "let all cells, or those of one colour, fall to a side until something stops them"
    kinds: ClassVar[tuple[str, ...]] = ("all, down", "all, sideways", "one colour, down", "one colour, sideways", "up")

    def draw_rule(self, dice: Dice, kind: str) -> Fall:
        if kind == "up":
            return Fall(side=_UP, mover=dice.one_of((0, *COLOURS)))
        side = _DOWN if kind.endswith("down") else dice.one_of((_LEFT, _RIGHT))
        return Fall(side=side, mover=dice.one_of(COLOURS) if kind.startswith("one") else 0)

    def draw_input(self, dice: Dice, rule: Fall) -> Grid | None:
        drawn = canvas(dice, least=5, most=9)
        palette = dice.some_of([colour for colour in COLOURS if colour != rule.mover], count=dice.between(2, 3))
        places = [(row, col) for row in range(drawn.rows) for col in range(drawn.cols)]
        for cell in dice.some_of(places, count=len(places) * dice.between(15, 30) // 100):
            drawn.put([cell], rule.mover if rule.mover and dice.chance(55) else dice.one_of(palette))
        return drawn.grid()

    def rules(self, *, read: Collection[int], written: Collection[int]) -> Iterator[Fall]:
        del written
        for side in range(4):
            for mover in (0, *read):
                yield Fall(side=side, mover=mover)
