"""Lines between cells of one colour."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from evaluator.arc.grids import Grid
from evaluator.arc.mini.canvas import Canvas, Dice, canvas
from evaluator.arc.mini.cells import COLOURS, Cell, cells_of, letter, painted
from evaluator.arc.mini.rules import Family, Rule, program_of

_ROW, _COLUMN = "row", "col"
_AXES = ((_ROW,), (_COLUMN,), (_ROW, _COLUMN))


@dataclass(frozen=True, slots=True, kw_only=True)
class Connect(Rule):
    """Joins pairs of cells of one colour that share a row or column."""

    axes: tuple[str, ...]
    """`row`, `col` or both."""
    paint: int = 0
    """Colour of the lines; 0: the colour of their ends."""

    def apply(self, grid: Grid) -> Grid | None:
        """See `Rule`. None if a third cell is in the way, or lines of two colours cross."""
        made: dict[Cell, int] = {}
        for axis in self.axes:
            lines = _lines(grid, axis)
            if lines is None:
                return None
            for cell, colour in lines.items():
                if made.setdefault(cell, self.paint or colour) != (self.paint or colour):
                    return None
        return painted(grid, made)

    def program(self) -> str:
        tests = " or ".join(f"on_same_line(one, two, '{axis}')" for axis in self.axes)
        test = f"({tests})" if len(self.axes) > 1 else tests
        paint = letter(self.paint) if self.paint else "color"
        restored = ["fill_value(out, one, color)", "fill_value(out, two, color)"] if self.paint else []
        return program_of(
            "out = copy.deepcopy(grid)",
            "for color, coords in get_pixel_coords(grid).items():",
            "    for one in coords:",
            "        for two in coords:",
            f"            if one != two and {test}:",
            *(f"                {call}" for call in (f"fill_between_coords(out, one, two, {paint})", *restored)),
            "return out",
        )


def _lines(grid: Grid, axis: str) -> dict[Cell, int] | None:
    """The blank cells between two of one colour in each row or column; None if a third cell is in the way."""
    made: dict[Cell, int] = {}
    along = 1 if axis == _ROW else 0
    lines: dict[tuple[int, int], list[int]] = {}
    coloured = cells_of(grid)
    for cell, colour in coloured.items():
        lines.setdefault((cell[1 - along], colour), []).append(cell[along])
    for (line, colour), places in lines.items():
        if len(places) > 2:
            return None
        for first, last in pairwise(places):
            between = [(line, place) if axis == _ROW else (place, line) for place in range(first + 1, last)]
            if any(cell in coloured for cell in between):
                return None
            made.update(dict.fromkeys(between, colour))
    return made


class ConnectFamily(Family[Connect]):
    """Pairs of cells, and single ones."""

    name: ClassVar[str] = "connect"
    words: ClassVar[str] = "draw lines between cells of one colour that share a row or a column"
    kinds: ClassVar[tuple[str, ...]] = ("rows", "columns", "rows and columns", "painted", "rows and columns, painted")

    def draw_rule(self, dice: Dice, kind: str) -> Connect:
        axes = {"rows": _AXES[0], "columns": _AXES[1], "painted": dice.one_of(_AXES[:2])}.get(kind, _AXES[2])
        return Connect(axes=axes, paint=dice.one_of(COLOURS) if kind.endswith("painted") else 0)

    def draw_input(self, dice: Dice, rule: Connect) -> Grid | None:
        drawn = canvas(dice, least=7, most=11)
        palette = dice.some_of([colour for colour in COLOURS if colour != rule.paint], count=3)
        for axis in (_ROW, _COLUMN):
            for _ in range(dice.between(1, 2)):
                drawn.put(_pair(dice, drawn, axis), dice.one_of(palette))
        for _ in range(dice.between(0, 3)):
            drawn.put([(dice.below(drawn.rows), dice.below(drawn.cols))], dice.one_of(palette))
        return drawn.grid()

    def rules(self, *, read: Collection[int], written: Collection[int]) -> Iterator[Connect]:
        del read
        for axes in _AXES:
            for paint in (0, *written):
                yield Connect(axes=axes, paint=paint)


def _pair(dice: Dice, drawn: Canvas, axis: str) -> list[Cell]:
    """Two cells of a line with at least two cells between them."""
    length, lines = (drawn.cols, drawn.rows) if axis == _ROW else (drawn.rows, drawn.cols)
    first = dice.below(length - 3)
    last, line = dice.between(first + 3, length - 1), dice.below(lines)
    return [(line, place) if axis == _ROW else (place, line) for place in (first, last)]
