"""Functions that label each cell of a grid, for tables that are learnt from demonstrations; see
`evaluator.arc.planners.search.grids`. A label is a number, a truth value or a letter."""

from typing import Any

from evaluator.arc.helpers.functions import horizontal_flip, obj_to_coords, vertical_flip
from evaluator.arc.planners.search.grids import Grid, most_common

Labels = list[list[Any]]


def stripes(grid: Grid, down: int, right: int, period: int) -> Labels:
    """The place in a regular pattern."""
    return [[(down * r + right * c) % period for c in range(len(grid[0]))] for r in range(len(grid))]


def depth(grid: Grid) -> Labels:
    """The distance from the nearest edge of the grid."""
    height, width = len(grid), len(grid[0])
    return [[min(r, c, height - 1 - r, width - 1 - c) for c in range(width)] for r in range(height)]


def at_edge(grid: Grid) -> Labels:
    """Whether a cell is at the edge of the grid."""
    return [[distance == 0 for distance in row] for row in depth(grid)]


def neighbour(grid: Grid, down: int, right: int) -> Labels:
    """The value of the cell so far away; blank outside."""
    height, width = len(grid), len(grid[0])
    return [
        [grid[r + down][c + right] if 0 <= r + down < height and 0 <= c + right < width else "." for c in range(width)]
        for r in range(height)
    ]


def neighbours(grid: Grid, diag: bool) -> Labels:
    """How many neighbours are not blank."""
    steps = [(-1, 0), (1, 0), (0, -1), (0, 1)] + ([(-1, -1), (-1, 1), (1, -1), (1, 1)] if diag else [])
    moved = [neighbour(grid, down, right) for down, right in steps]
    return [[sum(1 for m in moved if m[r][c] != ".") for c in range(len(grid[0]))] for r in range(len(grid))]


def around(grid: Grid, diag: bool) -> Labels:
    """The largest colour among the neighbours by letter; blank if there is none."""
    steps = [(-1, 0), (1, 0), (0, -1), (0, 1)]
    if diag:
        steps = [(-1, -1), (-1, 1), (1, -1), (1, 1)]
    moved = [neighbour(grid, down, right) for down, right in steps]
    return [[max(m[r][c] for m in moved) for c in range(len(grid[0]))] for r in range(len(grid))]


def enclosed(grid: Grid, diag: bool) -> Labels:
    """Whether no path over blank cells leads to the edge of the grid; false for cells that are not blank."""
    height, width = len(grid), len(grid[0])
    free = [(r, c) for r in range(height) for c in range(width) if r in (0, height - 1) or c in (0, width - 1)]
    steps = [(-1, 0), (1, 0), (0, -1), (0, 1)] + ([(-1, -1), (-1, 1), (1, -1), (1, 1)] if diag else [])
    seen = set()
    while free:
        r, c = free.pop()
        if 0 <= r < height and 0 <= c < width and (r, c) not in seen and grid[r][c] == ".":
            seen.add((r, c))
            for down, right in steps:
                free.append((r + down, c + right))
    return [[grid[r][c] == "." and (r, c) not in seen for c in range(width)] for r in range(height)]


def ray(grid: Grid, down: int, right: int) -> Labels:
    """The first colour that is seen from a cell in a direction; blank if there is none."""
    height, width = len(grid), len(grid[0])
    made = [["."] * width for _ in range(height)]
    rows = range(height) if down < 0 else range(height - 1, -1, -1)
    cols = range(width) if right < 0 else range(width - 1, -1, -1)
    for r in rows:
        for c in cols:
            a, b = r + down, c + right
            if 0 <= a < height and 0 <= b < width:
                made[r][c] = made[a][b] if grid[a][b] == "." else grid[a][b]
    return made


def between(grid: Grid, down: int, right: int) -> Labels:
    """The colour that is seen from a cell in a direction and the opposite one alike; blank if they differ."""
    first, second = ray(grid, down, right), ray(grid, -down, -right)
    return [[a if a == b else "." for a, b in zip(left, other)] for left, other in zip(first, second)]  # noqa: B905


def crossing(grid: Grid) -> Labels:
    """The colour that is seen in the same way along the row or the column; blank if there is none."""
    first, second = between(grid, 0, 1), between(grid, 1, 0)
    return [[max(a, b) for a, b in zip(left, other)] for left, other in zip(first, second)]  # noqa: B905


def row_common(grid: Grid) -> Labels:
    """The most frequent value of the cell's row."""
    return [[most_common([row])] * len(row) for row in grid]


def column_common(grid: Grid) -> Labels:
    """The most frequent value of the cell's column."""
    found = [most_common([[row[col] for row in grid]]) for col in range(len(grid[0]))]
    return [found for _ in grid]


def row_colour(grid: Grid) -> Labels:
    """The largest colour of the cell's row by letter."""
    return [[max(row)] * len(row) for row in grid]


def column_colour(grid: Grid) -> Labels:
    """The largest colour of the cell's column by letter."""
    found = [max(row[col] for row in grid) for col in range(len(grid[0]))]
    return [found for _ in grid]


def line_is_one(grid: Grid) -> Labels:
    """How many of the cell's row and column have one value only: 0, 1 for the row, 2 for the column, or 3."""
    columns = [len({row[col] for row in grid}) == 1 for col in range(len(grid[0]))]
    return [[(len(set(row)) == 1) + 2 * column for column in columns] for row in grid]


def rarest(grid: Grid) -> Labels:
    """The rarest colour of the grid."""
    values = [cell for row in grid for cell in row if cell != "."]
    colour = min(sorted(set(values)), key=lambda value: values.count(value))
    return [[colour] * len(row) for row in grid]


def commonest(grid: Grid) -> Labels:
    """The most frequent colour of the grid."""
    values = [cell for row in grid for cell in row if cell != "."]
    colour = min(sorted(set(values)), key=lambda value: -values.count(value))
    return [[colour] * len(row) for row in grid]


def spread(grid: Grid, objects: list[dict[str, Any]], kind: str) -> Labels:
    """A property of objects at their cells; -1 elsewhere."""
    made: Labels = [[-1] * len(row) for row in grid]
    sizes = [len([0 for row in obj["grid"] for cell in row if cell not in ".$"]) for obj in objects]
    for size, obj in zip(sizes, objects):  # noqa: B905
        value = property_of(grid, obj, kind, size, sizes)
        for r, c in obj_to_coords(obj):
            made[r][c] = value
    return made


def property_of(grid: Grid, obj: dict[str, Any], kind: str, size: int, sizes: list[int]) -> Any:
    """A property of an object among those with these sizes."""
    rows, (top, left) = obj["grid"], obj["tl"]
    height, width = len(rows), len(rows[0])
    if kind == "cells":
        return size
    if kind == "largest":
        return size == max(sizes)
    if kind == "smallest":
        return size == min(sizes)
    if kind == "rank":
        return sorted(set(sizes), reverse=True).index(size)
    if kind == "height":
        return height
    if kind == "width":
        return width
    if kind == "edge":
        return top == 0 or left == 0 or top + height == len(grid) or left + width == len(grid[0])
    if kind == "full":
        return size == height * width
    if kind == "square":
        return size == height * width and height == width
    if kind == "symmetric":
        return horizontal_flip(rows) == rows or vertical_flip(rows) == rows
    if kind == "tall":
        return height > width
    if kind == "single":
        return size == 1
    if kind == "blank":
        return height * width - size
    cells = [cell for row in rows for cell in row if cell not in ".$"]
    return min(sorted(set(cells)), key=lambda value: cells.count(value) if kind == "rare" else -cells.count(value))
