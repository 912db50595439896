"""Cutting out one object, or all of them together."""

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
    """The box of what is chosen is the output, in some reversed or turned."""

    which: str
    """`all` objects; the `largest` or `smallest`; the `odd` one, whose colour no other has; or that of a `colour`."""
    colour: int = 0
    then: str = ""
    """What comes after: reversing `columns` or `rows`, or a quarter `turn`."""

    def apply(self, grid: Grid) -> Grid | None:
        """See `Rule`. Nothing is said where several could be meant."""
        box = region_of(cells_of(grid), colour=0) if self.which == _ALL else self._chosen(regions(grid))
        if box is None:
            return None
        found = cropped(grid, box)
        match self.then:
            case "columns":
                return tuple(row[::-1] for row in found)
            case "rows":
                return found[::-1]
            case "turn":
                return turned(found)
        return found

    def _chosen(self, found: Sequence[Region]) -> Region | None:
        sizes = [len(region.cells) for region in found]
        colours = Counter(region.colour for region in found)
        wanted = [
            region
            for region in found
            if (self.which == _LARGEST and len(region.cells) == max(sizes))
            or (self.which == _SMALLEST and len(region.cells) == min(sizes))
            or (self.which == _ODD and colours[region.colour] == 1)
            or (self.which == _COLOUR and region.colour == self.colour)
        ]
        return wanted[0] if len(wanted) == 1 else None

    def program(self) -> str:
        """See `Rule`."""
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
        """See `Rule`."""
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
        """See `Family`."""
        moved = dice.one_of([then for then in _THEN if then])
        if kind == "by colour":
            return Crop(which=_COLOUR, colour=dice.one_of(COLOURS), then=moved if dice.chance(30) else "")
        if kind.startswith("by size"):
            return Crop(which=dice.one_of((_LARGEST, _SMALLEST)), then=moved if kind.endswith("moved") else "")
        return Crop(which=kind, then=moved if dice.chance(30) else "")

    def draw_input(self, dice: Dice, rule: Crop) -> Grid | None:
        """See `Family`."""
        drawn = canvas(dice, least=7, most=11)
        palette = dice.some_of([one for one in COLOURS if one != rule.colour], count=3)
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
        """See `Family`."""
        for then in _THEN:
            for which in (_ALL, _LARGEST, _SMALLEST, _ODD):
                yield Crop(which=which, then=then)
            for colour in read:
                if colour in written:
                    yield Crop(which=_COLOUR, colour=colour, then=then)
