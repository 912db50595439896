"""Counting, with a cell in the output per counted item."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import ClassVar

from evaluator.arc.grids import Grid
from evaluator.arc.mini.canvas import Dice, canvas, polyomino
from evaluator.arc.mini.cells import COLOURS, cells_of, colours_of, letter, regions
from evaluator.arc.mini.rules import Family, Rule, program_of

_OBJECTS, _CELLS, _COLOURS, _BARS = "objects", "cells", "colours", "bars"
_ROW, _COLUMN, _DIAGONAL, _SQUARE = "row", "column", "diagonal", "square"
_LAYOUTS = (_ROW, _COLUMN, _DIAGONAL, _SQUARE)
_MOST = 8
"""Maximum count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Count(Rule):
    """Draws a grid of as many cells as there are counted items."""

    what: str
    """`objects`, `cells`, `colours`; or `bars`: the cells of each colour as a row, the most frequent colour first."""
    layout: str = _ROW
    """Of the output: a `row`, `column`, `diagonal` or `square`."""
    paint: int = 0
    """Colour of the output; bars keep their colours."""
    colour: int = 0
    """Only objects or cells of this colour count; 0: all."""

    def apply(self, grid: Grid) -> Grid | None:
        """See `Rule`. None for a blank grid, bars of equal length, and counts beyond the maximum."""
        if self.what == _BARS:
            counts = Counter(cells_of(grid).values()).most_common()
            lengths = [length for _, length in counts]
            if not counts or len(set(lengths)) < len(lengths) or lengths[0] > _MOST:
                return None
            return tuple((colour,) * length + (0,) * (lengths[0] - length) for colour, length in counts)
        if self.what == _COLOURS:
            number = len(colours_of(grid))
        elif self.what == _CELLS:
            number = sum(self.colour in {0, cell} for cell in cells_of(grid).values())
        else:
            number = sum(self.colour in {0, region.colour} for region in regions(grid))
        if not 0 < number <= _MOST:
            return None
        if self.layout == _ROW:
            return ((self.paint,) * number,)
        if self.layout == _COLUMN:
            return ((self.paint,),) * number
        every = self.layout == _SQUARE
        return tuple(
            tuple(self.paint if every or row == col else 0 for col in range(number)) for row in range(number)
        )  # fmt: skip

    def program(self) -> str:
        if self.what == _BARS:
            return program_of(
                "bars = get_pixel_coords(grid)",
                "out = empty_grid(len(bars), max([len(coords) for coords in bars.values()]))",
                "for row, color in enumerate(bars):",
                "    fill_row(out, row, color, 0, len(bars[color]) - 1)",
                "return out",
            )
        paint = letter(self.paint)
        made = {
            _ROW: [f"return fill_row(empty_grid(1, count), 0, {paint})"],
            _COLUMN: [f"return fill_col(empty_grid(count, 1), 0, {paint})"],
            _SQUARE: [f"return fill_rect(empty_grid(count, count), (0, 0), (count - 1, count - 1), {paint})"],
            _DIAGONAL: [
                "out = empty_grid(count, count)",
                f"return fill_between_coords(out, (0, 0), (count - 1, count - 1), {paint})",
            ],
        }
        return program_of(f"count = {self._counting()}", *made[self.layout])

    def _counting(self) -> str:
        colour = letter(self.colour)
        if self.what == _COLOURS:
            return "len(get_pixel_coords(grid))"
        if self.what == _CELLS:
            if self.colour:
                return f"len(get_pixel_coords(grid)[{colour}])"
            return "sum([len(coords) for coords in get_pixel_coords(grid).values()])"
        if self.colour:
            return f"len([obj for obj in get_objects(grid) if get_object_color(obj) == {colour}])"
        return "len(get_objects(grid))"


class CountFamily(Family[Count]):
    """Some shapes, or scattered cells."""

    name: ClassVar[str] = "count"
    words: ClassVar[str] = (
        "count objects, cells or colours, and give a row, column, diagonal or square of as many cells"
    )
    kinds: ClassVar[tuple[str, ...]] = ("objects", "objects of a colour", "cells of a colour", "colours", "bars")
    keeps_size: ClassVar[bool] = False

    def draw_rule(self, dice: Dice, kind: str) -> Count:
        if kind == _BARS:
            return Count(what=_BARS)
        paint, colour = dice.one_of(COLOURS), dice.one_of(COLOURS)
        return Count(
            what=kind.split()[0], layout=dice.one_of(_LAYOUTS), paint=paint,
            colour=colour if kind.endswith("a colour") else 0,
        )  # fmt: skip

    def draw_input(self, dice: Dice, rule: Count) -> Grid | None:
        drawn = canvas(dice, least=6, most=10)
        number = dice.between(1, 7)
        palette = dice.some_of([colour for colour in COLOURS if colour != rule.colour], count=dice.between(2, 3))
        if rule.what == _COLOURS:
            palette = dice.some_of(COLOURS, count=number)
        if rule.what == _BARS:
            palette = palette if dice.chance(50) else dice.some_of(COLOURS, count=4)
        counted = [rule.colour] * number if rule.colour else [dice.one_of(palette) for _ in range(number)]
        others = [dice.one_of(palette) for _ in range(dice.between(1, 4))] if rule.colour else []
        if rule.what == _COLOURS:
            counted = palette + [dice.one_of(palette) for _ in range(dice.between(0, 3))]
        for colour in dice.some_of(counted + others, count=len(counted) + len(others)):
            small = rule.what == _CELLS and colour == rule.colour
            drawn.place(dice, shape=polyomino(dice, cells=dice.between(1, 2 if small else 4)), colour=colour)
        return drawn.grid()

    def rules(self, *, read: Collection[int], written: Collection[int]) -> Iterator[Count]:
        yield Count(what=_BARS)
        for layout in _LAYOUTS:
            for paint in written:
                yield Count(what=_COLOURS, layout=layout, paint=paint)
                for colour in (0, *read):
                    yield Count(what=_OBJECTS, layout=layout, paint=paint, colour=colour)
                    yield Count(what=_CELLS, layout=layout, paint=paint, colour=colour)
