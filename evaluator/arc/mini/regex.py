"""The shortcut `regex` for `arc-mini`: some transformations, written by hand from public tasks. Grids have no words, so
rules are tried on the demonstrations instead, and the first that fits all of them answers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import PlannerRequest

Grid = list[list[int]]
Rule = Callable[[Grid], Grid]
Choice = Callable[..., list[tuple[int, int]]]
_SIDES = ((0, 1), (0, -1), (1, 0), (-1, 0))


def plan(request: PlannerRequest) -> dict[str, JsonValue] | None:
    """The outputs of the first rule that fits; None if none does."""
    given: Mapping[str, Any] = request.task.given
    train, tests = given["train"], [pair["input"] for pair in given["test"]]
    for rule in _rules(sorted({cell for pair in train for row in pair["output"] for cell in row})):
        try:
            made = [rule(pair["input"]) for pair in train]
            recolour = _recolouring(made, [pair["output"] for pair in train])
            if recolour is not None:
                return {"grids": [[[recolour.get(cell, cell) for cell in row] for row in rule(grid)] for grid in tests]}
        except (IndexError, ValueError):
            continue
    return None


def _recolouring(made: list[Grid], wanted: list[Grid]) -> dict[int, int] | None:
    """The colours by which the results differ from the outputs; None if they differ by more."""
    colours: dict[int, int] = {}
    for one, other in zip(made, wanted, strict=True):
        if [len(row) for row in one] != [len(row) for row in other]:
            return None
        for cell, goal in zip(
            (cell for row in one for cell in row), (cell for row in other for cell in row), strict=True
        ):
            if colours.setdefault(cell, goal) != goal:
                return None
    return colours


def _rules(colours: list[int]) -> Iterator[Rule]:
    turns: list[Rule] = [_same, _turned, _upside_down, _reversed, _transposed]
    turns += [lambda g: _reversed(_upside_down(g)), lambda g: _upside_down(_transposed(g))]
    yield from turns
    yield from (lambda g: _beside(g, _reversed(g)), lambda g: _beside(_reversed(g), g))
    yield from (lambda g: g + _upside_down(g), lambda g: _upside_down(g) + g)
    yield from (partial(_fallen, side=side) for side in _SIDES)
    yield from (partial(_enclosed, colour=colour) for colour in colours)
    yield _connected
    yield from (partial(_rays, sides=[side]) for side in _SIDES)
    yield from (partial(_rays, sides=sides) for sides in (_SIDES[:2], _SIDES[2:], _SIDES))
    for choose in (max, min):
        yield from (partial(_object, turn=turn, choose=choose) for turn in turns)
        yield from (partial(_marked, colour=colour, choose=choose) for colour in colours)
    yield from (partial(_without_small, most=most) for most in (1, 2, 3))
    yield from (partial(_without, colour=colour) for colour in range(1, 10))


def _same(grid: Grid) -> Grid:
    return grid


def _upside_down(grid: Grid) -> Grid:
    return grid[::-1]


def _reversed(grid: Grid) -> Grid:
    return [row[::-1] for row in grid]


def _transposed(grid: Grid) -> Grid:
    return [list(row) for row in zip(*grid, strict=True)]


def _turned(grid: Grid) -> Grid:
    return _transposed(grid[::-1])


def _beside(left: Grid, right: Grid) -> Grid:
    return [row + other for row, other in zip(left, right, strict=True)]


def _object(grid: Grid, *, turn: Rule, choose: Choice) -> Grid:
    cells = choose(_objects(grid), key=len)
    rows, columns = [y for y, _ in cells], [x for _, x in cells]
    return turn([row[min(columns) : max(columns) + 1] for row in grid[min(rows) : max(rows) + 1]])


def _marked(grid: Grid, *, colour: int, choose: Choice) -> Grid:
    return _painted(grid, choose(_objects(grid), key=len), colour)


def _without_small(grid: Grid, *, most: int) -> Grid:
    return _painted(grid, [at for cells in _objects(grid) if len(cells) <= most for at in cells], 0)


def _without(grid: Grid, *, colour: int) -> Grid:
    return [[0 if cell == colour else cell for cell in row] for row in grid]


def _objects(grid: Grid) -> list[list[tuple[int, int]]]:
    """Cells of one colour that touch, background aside."""
    left = {(y, x) for y, row in enumerate(grid) for x, cell in enumerate(row) if cell}
    found = []
    while left:
        group = [min(left)]
        left -= {group[0]}
        for y, x in group:
            near = {(y + dy, x + dx) for dy, dx in _SIDES} & left
            group += sorted(at for at in near if grid[at[0]][at[1]] == grid[y][x])
            left -= set(group)
        found.append(group)
    return found


def _painted(grid: Grid, cells: list[tuple[int, int]], colour: int) -> Grid:
    return [[colour if (y, x) in cells else cell for x, cell in enumerate(row)] for y, row in enumerate(grid)]


def _fallen(grid: Grid, *, side: tuple[int, int]) -> Grid:
    """All cells at one side, in their order."""
    lines = grid if side[0] == 0 else _transposed(grid)
    full = [[cell for cell in line if cell] for line in lines]
    empty = [[0] * (len(line) - len(cells)) for line, cells in zip(lines, full, strict=True)]
    fallen = [e + c if sum(side) > 0 else c + e for e, c in zip(empty, full, strict=True)]
    return fallen if side[0] == 0 else _transposed(fallen)


def _enclosed(grid: Grid, *, colour: int) -> Grid:
    """Empty cells that no way leads out of, filled."""
    height, width = len(grid), len(grid[0])
    edge = [(y, x) for y in range(height) for x in range(width) if y in (0, height - 1) or x in (0, width - 1)]
    outside = [at for at in edge if not grid[at[0]][at[1]]]
    for y, x in outside:
        for at in ((y + dy, x + dx) for dy, dx in _SIDES):
            if 0 <= at[0] < height and 0 <= at[1] < width and not grid[at[0]][at[1]] and at not in outside:
                outside.append(at)
    inside = [(y, x) for y in range(height) for x in range(width) if not grid[y][x] and (y, x) not in outside]
    return _painted(grid, inside, colour)


def _connected(grid: Grid) -> Grid:
    """Lines between cells of one colour in one row or column."""
    made = [list(row) for row in grid]
    cells = [(y, x, cell) for y, row in enumerate(grid) for x, cell in enumerate(row) if cell]
    for (y, x, one), (v, u, other) in product(cells, cells):
        if one == other and (y == v or x == u):
            for at in product(range(y, v + 1), range(x, u + 1)):
                made[at[0]][at[1]] = one
    return made


def _rays(grid: Grid, *, sides: Sequence[tuple[int, int]]) -> Grid:
    """Lines from every cell to the border, until another cell."""
    made = [list(row) for row in grid]
    for y, x in product(range(len(grid)), range(len(grid[0]))):
        for dy, dx in sides if grid[y][x] else ():
            at = (y + dy, x + dx)
            while 0 <= at[0] < len(grid) and 0 <= at[1] < len(grid[0]) and not grid[at[0]][at[1]]:
                made[at[0]][at[1]] = grid[y][x]
                at = (at[0] + dy, at[1] + dx)
    return made
