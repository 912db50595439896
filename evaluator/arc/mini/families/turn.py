"""Rotating the whole grid, optionally recoloured."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import ClassVar

from evaluator.arc.grids import Grid
from evaluator.arc.mini.canvas import Dice
from evaluator.arc.mini.cells import COLOURS, colours_of, letter, turned
from evaluator.arc.mini.rules import Family, Rule, program_of

_TURNS = ((1, False), (2, False), (3, False), (1, True), (3, True))
"""Quarter turns, and whether columns are reversed afterwards. Reversing alone belongs to the symmetry family."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn(Rule):
    """Rotates clockwise, reverses columns, and replaces one colour by another."""

    quarters: int
    is_flipped: bool
    old: int = 0
    new: int = 0
    """Both 0: no colour changes."""

    def apply(self, grid: Grid) -> Grid | None:
        if self.old and self.old not in colours_of(grid):
            return None
        for _ in range(self.quarters):
            grid = turned(grid)
        if self.is_flipped:
            grid = tuple(row[::-1] for row in grid)
        return tuple(tuple(self.new if cell == self.old else cell for cell in row) for row in grid)

    def program(self) -> str:
        lines = [f"grid = rotate_clockwise(grid, {90 * self.quarters})"]
        if self.is_flipped:
            lines.append("grid = horizontal_flip(grid)")
        if self.old:
            lines.append(f"grid = replace(grid, {letter(self.old)}, {letter(self.new)})")
        return program_of(*lines, "return grid")

    def steps(self) -> str:
        calls = [f"R1 = rotate_clockwise(INPUT, {90 * self.quarters})"]
        if self.is_flipped:
            calls.append("R2 = horizontal_flip(R1)")
        if self.old:
            calls.append(f"R{len(calls) + 1} = replace(R{len(calls)}, {letter(self.old)}, {letter(self.new)})")
        return "; ".join(calls)


class TurnFamily(Family[Turn]):
    """Dense grids."""

    name: ClassVar[str] = "turn"
    words: ClassVar[str] = "turn the grid by quarters, in some reversed or with one colour replaced"
    kinds: ClassVar[tuple[str, ...]] = ("quarter", "half", "diagonal", "recoloured", "diagonal, recoloured")
    keeps_size: ClassVar[bool] = False

    def draw_rule(self, dice: Dice, kind: str) -> Turn:
        flipped = kind.startswith("diagonal")
        quarters = 2 if kind == "half" else dice.one_of((1, 3))
        old, new = dice.some_of(COLOURS, count=2) if kind.endswith("recoloured") else (0, 0)
        return Turn(quarters=quarters, is_flipped=flipped, old=old, new=new)

    def draw_input(self, dice: Dice, rule: Turn) -> Grid | None:
        rows, cols = dice.between(3, 7), dice.between(3, 7)
        others = [colour for colour in COLOURS if colour not in {rule.old, rule.new}]
        palette = dice.some_of(others, count=dice.between(2, 3))
        if rule.old:
            palette[0] = rule.old
        return tuple(
            tuple(dice.one_of(palette) if dice.chance(60) else 0 for _ in range(cols)) for _ in range(rows)
        )  # fmt: skip

    def rules(self, *, read: Collection[int], written: Collection[int]) -> Iterator[Turn]:
        swaps = [(0, 0), *((old, new) for old in read for new in written if old != new)]
        for quarters, flipped in _TURNS:
            for old, new in swaps:
                yield Turn(quarters=quarters, is_flipped=flipped, old=old, new=new)
