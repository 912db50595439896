"""Recolouring objects with a property."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import ClassVar

from evaluator.arc.grids import Demonstration, Grid
from evaluator.arc.mini.canvas import Dice, box, canvas, polyomino
from evaluator.arc.mini.cells import COLOURS, Cell, Region, cells_of, letter, painted, regions
from evaluator.arc.mini.rules import Family, Rule, program_of


@dataclass(frozen=True, slots=True)
class _Property:
    """A property of objects, implemented twice."""

    holds: Callable[[Region, Sequence[Region], Grid], bool]
    """Predicate on a region, all regions, and the grid."""
    test: str
    """Python expression over `obj`, `objs` and `grid`."""


def _has_cells(size: int) -> _Property:
    return _Property(lambda region, _, __: len(region.cells) == size, f"obj['cell_count'] == {size}")


_PROPERTIES: Mapping[str, _Property] = MappingProxyType({
    "largest": _Property(
        lambda region, regions, _: len(region.cells) == max(len(other.cells) for other in regions),
        "obj['cell_count'] == max([other['cell_count'] for other in objs])",
    ),
    "smallest": _Property(
        lambda region, regions, _: len(region.cells) == min(len(other.cells) for other in regions),
        "obj['cell_count'] == min([other['cell_count'] for other in objs])",
    ),
    "tall": _Property(lambda region, _, __: region.height > region.width, "obj['size'][0] > obj['size'][1]"),
    "wide": _Property(lambda region, _, __: region.height < region.width, "obj['size'][0] < obj['size'][1]"),
    "border": _Property(
        lambda region, _, grid: 0 in (region.top, region.left)
        or region.bottom == len(grid) - 1 or region.right == len(grid[0]) - 1,
        "obj['tl'][0] == 0 or obj['tl'][1] == 0 or obj['tl'][0] + obj['size'][0] == len(grid) or "
        "obj['tl'][1] + obj['size'][1] == len(grid[0])",
    ),
    "solid": _Property(
        lambda region, _, __: len(region.cells) == region.height * region.width,
        "obj['cell_count'] == obj['size'][0] * obj['size'][1]",
    ),
    "top": _Property(
        lambda region, regions, _: region.top == min(other.top for other in regions),
        "obj['tl'][0] == min([other['tl'][0] for other in objs])",
    ),
    "left": _Property(
        lambda region, regions, _: region.left == min(other.left for other in regions),
        "obj['tl'][1] == min([other['tl'][1] for other in objs])",
    ),
    **{f"{size} cells": _has_cells(size) for size in range(1, 7)},
})  # fmt: skip
_KINDS: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "size": ("largest", "smallest"), "side": ("tall", "wide"), "place": ("border", "top", "left"),
    "shape": ("solid",), "cells": tuple(f"{size} cells" for size in range(2, 6)),
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark(Rule):
    """Objects with a property get a new colour, and the others may get another."""

    which: str
    """Name of the property."""
    paint: int
    others: int = 0
    """Colour of the other objects; 0: unchanged."""

    def apply(self, grid: Grid) -> Grid | None:
        made: dict[Cell, int] = {}
        for region, holds in zip(regions(grid), _held(grid, self.which), strict=True):
            if colour := self.paint if holds else self.others:
                made.update(dict.fromkeys(region.cells, colour))
        return painted(grid, made)

    def program(self) -> str:
        others = ["    else:", f"        change_object_color(obj, {letter(self.others)})"] if self.others else []
        return program_of(
            "objs = get_objects(grid)",
            "out = copy.deepcopy(grid)",
            "for obj in objs:",
            f"    if {_PROPERTIES[self.which].test}:",
            f"        change_object_color(obj, {letter(self.paint)})",
            *others,
            "    fill_object(out, obj)",
            "return out",
        )


@lru_cache(maxsize=2048)
def _held(grid: Grid, which: str) -> tuple[bool, ...]:
    """Whether each region has the property; cached, because all rules of a property share it."""
    return tuple(_PROPERTIES[which].holds(region, regions(grid), grid) for region in regions(grid))


class MarkFamily(Family[Mark]):
    """Some shapes, of one colour in most."""

    name: ClassVar[str] = "mark"
    words: ClassVar[str] = "recolour the objects with a property: size, sides, place, shape or number of cells"
    kinds: ClassVar[tuple[str, ...]] = ("size", "side", "place", "shape", "cells")
    writes_always: ClassVar[bool] = False

    def draw_rule(self, dice: Dice, kind: str) -> Mark:
        paint, others = dice.some_of(COLOURS, count=2)
        return Mark(which=dice.one_of(_KINDS[kind]), paint=paint, others=others if dice.chance(40) else 0)

    def draw_input(self, dice: Dice, rule: Mark) -> Grid | None:
        drawn = canvas(dice, least=8, most=12)
        others = [colour for colour in COLOURS if colour not in {rule.paint, rule.others}]
        palette = dice.some_of(others, count=1 if dice.chance(70) else 2)
        for _ in range(dice.between(3, 5)):
            if dice.chance(30):
                height = dice.between(1, 3)
                shape = box(0, 0, height=height, width=dice.between(1, 6 // height))
            else:
                shape = polyomino(dice, cells=dice.between(1, 6))
            drawn.place(dice, shape=shape, colour=dice.one_of(palette))
        return drawn.grid()

    def may_explain(self, pair: Demonstration) -> bool:
        """See `Family`: the same cells are coloured."""
        return cells_of(pair.input).keys() == cells_of(pair.output).keys()

    def rules(self, *, read: Collection[int], written: Collection[int]) -> Iterator[Mark]:
        del read
        for which in _PROPERTIES:
            for paint in written:
                for others in (0, *(colour for colour in written if colour != paint)):
                    yield Mark(which=which, paint=paint, others=others)
