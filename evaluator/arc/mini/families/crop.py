"""Cropping to one object, or to all of them."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from evaluator.arc.grids import Grid
from evaluator.arc.mini.canvas import Dice, canvas, polyomino
from evaluator.arc.mini.cells import COLOURS, Region, cells_of, cropped, letter, region_of, regions, turned
from evaluator.arc.mini.rules import Family, Rule, program_of

_ALL, _LARGEST, _SMALLEST, _ODD, _COLOUR = "all", "largest", "smallest", "odd", "colour"
_THEN = {"": "", "columns": "horizontal_flip", "rows": "vertical_flip", "turn": "rotate_clockwise"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Crop(Rule):
    """The output is the bounding box of the selected objects, possibly reversed or rotated."""

    which: str
    """`all` objects; the `largest` or `smallest`; the `odd` one, with a unique colour; or the one of a `colour`."""
    colour: int = 0
    then: str = ""
    """Final operation: reversing `columns` or `rows`, or a quarter `turn`."""

    def apply(self, grid: Grid) -> Grid | None:
        """See `Rule`. None if the selection is ambiguous."""
        box = region_of(cells_of(grid), colour=0) if self.which == _ALL else self._chosen(regions(grid))
        if box is None:
            return None
        part = cropped(grid, box)
        match self.then:
            case "columns":
                return tuple(row[::-1] for row in part)
            case "rows":
                return part[::-1]
            case "turn":
                return turned(part)
        return part

    def _chosen(self, objects: Sequence[Region]) -> Region | None:
        sizes = [len(region.cells) for region in objects]
        colours = Counter(region.colour for region in objects)
        candidates = [
            region
            for region in objects
            if (self.which == _LARGEST and len(region.cells) == max(sizes))
            or (self.which == _SMALLEST and len(region.cells) == min(sizes))
            or (self.which == _ODD and colours[region.colour] == 1)
            or (self.which == _COLOUR and region.colour == self.colour)
        ]
        return candidates[0] if len(candidates) == 1 else None

    def program(self) -> str:
        of_colour = f"for obj in get_objects(grid) if get_object_color(obj) == {letter(self.colour)}"
        chosen = {
            _ALL: ["out = tight_fit(grid)"],
            _LARGEST: ["out = max(get_objects(grid), key=lambda obj: obj['cell_count'])['grid']"],
            _SMALLEST: ["out = min(get_objects(grid), key=lambda obj: obj['cell_count'])['grid']"],
            _ODD: [
                "objs = get_objects(grid)",
                "colors = [get_object_color(obj) for obj in objs]",
                "out = [obj['grid'] for obj in objs if colors.count(get_object_color(obj)) == 1][0]",
            ],
            _COLOUR: [f"out = [obj['grid'] {of_colour}][0]"],
        }  # fmt: skip
        return program_of(*chosen[self.which], f"return {_THEN[self.then]}(out)" if self.then else "return out")

    def steps(self) -> str:
        if self.which != _ALL:
            return ""
        return "R1 = tight_fit(INPUT)" + (f"; R2 = {_THEN[self.then]}(R1)" if self.then else "")


class CropFamily(Family[Crop]):
    """A few shapes."""

    name: ClassVar[str] = "crop"
    words: ClassVar[str] = "cut out all objects, or the one of some size or colour; in some reversed or turned"
    kinds: ClassVar[tuple[str, ...]] = ("all", "by size", "by colour", "by size, moved", "odd")
    keeps_size: ClassVar[bool] = False

    def draw_rule(self, dice: Dice, kind: str) -> Crop:
        moved = dice.one_of([then for then in _THEN if then])
        if kind == "by colour":
            return Crop(which=_COLOUR, colour=dice.one_of(COLOURS), then=moved if dice.chance(30) else "")
        if kind.startswith("by size"):
            return Crop(which=dice.one_of((_LARGEST, _SMALLEST)), then=moved if kind.endswith("moved") else "")
        return Crop(which=kind, then=moved if dice.chance(30) else "")

    def draw_input(self, dice: Dice, rule: Crop) -> Grid | None:
        drawn = canvas(dice, least=7, most=11)
        palette = dice.some_of([colour for colour in COLOURS if colour != rule.colour], count=3)
        odd = [rule.colour or palette.pop()]
        if rule.which == _ODD:
            doubled = [colour for colour in palette for _ in range(dice.between(2, 3))]
        else:
            doubled = [dice.one_of(palette) for _ in range(dice.between(2, 3))]
        for colour in odd + doubled:
            shape = polyomino(dice, cells=dice.between(2, 6))
            if drawn.place(dice, shape=shape, colour=colour) is None:
                return None
        return drawn.grid()

    def rules(self, *, read: Collection[int], written: Collection[int]) -> Iterator[Crop]:
        for then in _THEN:
            for which in (_ALL, _LARGEST, _SMALLEST, _ODD):
                yield Crop(which=which, then=then)
            for colour in read:
                if colour in written:
                    yield Crop(which=_COLOUR, colour=colour, then=then)
