"""Blank cells inside outlines."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import ClassVar

from evaluator.arc.grids import Grid
from evaluator.arc.mini.canvas import Dice, canvas, outline
from evaluator.arc.mini.cells import COLOURS, Cell, holes, letter, painted
from evaluator.arc.mini.rules import Family, Rule, program_of

_ALL, _LARGEST, _SMALLEST = "all", "largest", "smallest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fill(Rule):
    """Fills the interior of closed outlines, and may recolour those outlines."""

    inside: int
    """Fill colour; 0: the colour of the outline."""
    frame: int = 0
    """New colour of the outline; 0: unchanged."""
    which: str = _ALL
    """`all` interiors, or those with the most (`largest`) or fewest (`smallest`) cells."""

    def apply(self, grid: Grid) -> Grid | None:
        """See `Rule`. None unless there are interiors and all are rectangles."""
        interiors = holes(grid)
        if not interiors or any(len(hole.cells) != hole.height * hole.width for hole in interiors):
            return None
        sizes = [len(hole.cells) for hole in interiors]
        selected = {_LARGEST: {max(sizes)}, _SMALLEST: {min(sizes)}}.get(self.which, set(sizes))
        made: dict[Cell, int] = {}
        for hole in interiors:
            if len(hole.cells) in selected:
                colour = grid[hole.top][hole.left - 1]
                shape = outline(height=hole.height + 2, width=hole.width + 2)
                around = [(hole.top - 1 + row, hole.left - 1 + col) for row, col in shape]
                made |= dict.fromkeys(around, self.frame or colour)
                made |= dict.fromkeys(hole.cells, self.inside or colour)
        return painted(grid, made)

    def program(self) -> str:
        chosen, indent = [], "    "
        if self.which != _ALL:
            function = "max" if self.which == _LARGEST else "min"
            chosen = [f"size = {function}(obj['cell_count'] for obj in inner)"]
            indent *= 2
        filling = letter(self.inside) if self.inside else "grid[row][col - 1]"
        body = ["row, col = obj['tl']"]
        if self.frame:
            body += [
                "rows, cols = obj['size']",
                f"fill_rect(out, (row - 1, col - 1), (row + rows, col + cols), {letter(self.frame)})",
            ]
        body.append(f"fill_object(out, change_object_color(obj, {filling}))")
        return program_of(
            "out = copy.deepcopy(grid)",
            "inner = [obj for obj in get_objects(grid) if object_contains_color(obj, '$')]",
            *chosen,
            "for obj in inner:",
            *(["    if obj['cell_count'] == size:"] if chosen else []),
            *(indent + line for line in body),
            "return out",
        )


class EncloseFamily(Family[Fill]):
    """Outlines of rectangles, some of them open."""

    name: ClassVar[str] = "enclose"
    words: ClassVar[str] = (
        "fill what closed outlines enclose; in some only the largest or smallest, or with a new outline"
    )
    kinds: ClassVar[tuple[str, ...]] = ("colour", "own colour", "new outline", "by size", "by size, new outline")

    def draw_rule(self, dice: Dice, kind: str) -> Fill:
        inside, frame = dice.some_of(COLOURS, count=2)
        return Fill(
            inside=0 if kind == "own colour" else inside, frame=frame if kind.endswith("outline") else 0,
            which=dice.one_of((_LARGEST, _SMALLEST)) if kind.startswith("by size") else _ALL,
        )  # fmt: skip

    def draw_input(self, dice: Dice, rule: Fill) -> Grid | None:
        drawn = canvas(dice, least=9, most=12)
        others = [colour for colour in COLOURS if colour not in {rule.inside, rule.frame}]
        palette = dice.some_of(others, count=2)
        for number in range(dice.between(3, 4)):
            height, width = dice.between(3, 5), dice.between(3, 5)
            shape = outline(height=height, width=width)
            if number and dice.chance(35):
                shape.remove(_gap(dice, height=height, width=width))
            drawn.place(dice, shape=shape, colour=dice.one_of(palette))
        return drawn.grid()

    def rules(self, *, read: Collection[int], written: Collection[int]) -> Iterator[Fill]:
        del read
        for which in (_ALL, _LARGEST, _SMALLEST):
            for inside in (0, *written):
                for frame in (0, *(colour for colour in written if colour != inside)):
                    yield Fill(inside=inside, frame=frame, which=which)


def _gap(dice: Dice, *, height: int, width: int) -> Cell:
    """A cell of an outline other than its corners."""
    if dice.chance(50):
        return dice.one_of((0, height - 1)), dice.between(1, width - 2)
    return dice.between(1, height - 2), dice.one_of((0, width - 1))
