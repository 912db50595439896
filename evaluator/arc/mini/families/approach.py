"""Objects that move to a target."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

from evaluator.arc.grids import Grid
from evaluator.arc.mini.canvas import Dice, box, canvas, polyomino
from evaluator.arc.mini.cells import COLOURS, Cell, Region, cells_of, letter, region_of, regions
from evaluator.arc.mini.rules import Family, Rule, program_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Approach(Rule):
    """Objects of one colour move in a straight line until they touch the object of another colour."""

    mover: int
    target: int
    paint: int = 0
    """New colour of moved objects; 0: unchanged."""
    trails: bool = False
    """Whether single cells leave a line of their old colour behind."""

    def apply(self, grid: Grid) -> Grid | None:
        """See `Rule`. Requires that every mover faces the only target, with a free path and final box."""
        targets = [region for region in regions(grid) if region.colour == self.target]
        movers = [region for region in regions(grid) if region.colour == self.mover]
        if len(targets) != 1 or not movers or (self.trails and any(len(mover.cells) > 1 for mover in movers)):
            return None
        made = {cell: colour for cell, colour in cells_of(grid).items() if colour != self.mover}
        boxes: set[Cell] = set()
        for mover in movers:
            way = _way(mover, targets[0])
            if way is None:
                return None
            steps = [{(row + n * way[0], col + n * way[1]) for row, col in mover.cells} for n in range(way[2] + 1)]
            goal = region_of(steps[-1], colour=self.mover)
            covered = box(goal.top, goal.left, height=goal.height, width=goal.width)
            if any(cell in made for cell in (*covered, *chain(*steps))) or not boxes.isdisjoint(covered):
                return None
            boxes.update(covered)
            made |= dict.fromkeys(chain(*steps) if self.trails else (), self.mover)
            made |= dict.fromkeys(steps[-1], self.paint or self.mover)
        return tuple(tuple(made.get((row, col), 0) for col in range(len(line))) for row, line in enumerate(grid))

    def program(self) -> str:
        mover, target = letter(self.mover), letter(self.target)
        trail = [f"        fill_between_coords(out, (row, col), obj['tl'], {mover})"] if self.trails else []
        painting = [f"        change_object_color(obj, {letter(self.paint)})"] if self.paint else []
        return program_of(
            "objs = get_objects(grid)",
            f"goal = [obj for obj in objs if get_object_color(obj) == {target}][0]",
            "top, left = goal['tl']",
            "bottom, right = top + goal['size'][0], left + goal['size'][1]",
            f"out = replace(grid, {mover}, '.')",
            "for obj in objs:",
            f"    if get_object_color(obj) == {mover}:",
            "        row, col = obj['tl']",
            "        height, width = obj['size']",
            "        if row + height <= top:",
            "            obj['tl'] = (top - height, col)",
            "        elif row >= bottom:",
            "            obj['tl'] = (bottom, col)",
            "        elif col < left:",
            "            obj['tl'] = (row, left - width)",
            "        else:",
            "            obj['tl'] = (row, right)",
            *trail,
            *painting,
            "        fill_object(out, obj)",
            "return out",
        )


def _way(mover: Region, target: Region) -> tuple[int, int, int] | None:
    """Rows and columns of a step, and the number of steps; None if the boxes do not face each other."""
    beside = mover.top <= target.bottom and target.top <= mover.bottom
    above = mover.left <= target.right and target.left <= mover.right
    if beside == above:
        return None
    if above:
        down = mover.bottom < target.top
        return (1, 0, target.top - mover.bottom - 1) if down else (-1, 0, mover.top - target.bottom - 1)
    right = mover.right < target.left
    return (0, 1, target.left - mover.right - 1) if right else (0, -1, mover.left - target.right - 1)


class ApproachFamily(Family[Approach]):
    """A rectangle, one to three objects that face it, and others."""

    name: ClassVar[str] = "approach"
    words: ClassVar[str] = "move objects straight to another one, in some with a new colour or a trail"
    kinds: ClassVar[tuple[str, ...]] = (
        "objects", "cells, trail", "objects, recoloured", "cells", "cells, recoloured, trail",
    )  # fmt: skip

    def draw_rule(self, dice: Dice, kind: str) -> Approach:
        mover, target, paint = dice.some_of(COLOURS, count=3)
        return Approach(
            mover=mover, target=target, paint=paint if "recoloured" in kind else 0, trails=kind.endswith("trail")
        )

    def draw_input(self, dice: Dice, rule: Approach) -> Grid | None:
        drawn = canvas(dice, least=8, most=12)
        known = {rule.mover, rule.target, rule.paint}
        height, width = dice.between(2, 4), dice.between(2, 4)
        if drawn.place(dice, shape=box(0, 0, height=height, width=width), colour=rule.target) is None:
            return None
        single = rule.trails or dice.chance(30)
        for _ in range(dice.between(1, 3)):
            shape = [(0, 0)] if single else polyomino(dice, cells=dice.between(2, 4))
            drawn.place(dice, shape=shape, colour=rule.mover)
        for _ in range(dice.between(1, 2)):
            other = dice.one_of([colour for colour in COLOURS if colour not in known])
            drawn.place(dice, shape=polyomino(dice, cells=dice.between(1, 3)), colour=other)
        return drawn.grid()

    def rules(self, *, read: Collection[int], written: Collection[int]) -> Iterator[Approach]:
        for mover in read:
            for target in read:
                if target == mover or target not in written:
                    continue
                for paint in (0, *written):
                    yield Approach(mover=mover, target=target, paint=paint)
                    yield Approach(mover=mover, target=target, paint=paint, trails=True)
