"""Functions from grids to grids, objects and labels of cells that the search composes.

The text of a function, without annotations and docstring, is part of the programs that use it, so each is restricted
Python over letter grids and calls only the helpers and functions of this module. None changes its arguments. A function
that does not apply to a grid fails with any exception, or returns an empty grid.
"""

from typing import Any

from evaluator.arc.helpers.functions import (
    crop_grid,
    empty_grid,
    fill_grid,
    get_objects,
    get_pixel_coords,
    get_size,
    horizontal_flip,
    obj_to_coords,
    rotate_clockwise,
    vertical_flip,
)

Grid = list[list[str]]


def same(grid: Grid) -> Grid:
    """The grid itself."""
    return grid


def mirrored(grid: Grid) -> Grid:
    """Columns reversed."""
    return horizontal_flip(grid)


def upside_down(grid: Grid) -> Grid:
    """Rows reversed."""
    return vertical_flip(grid)


def turned(grid: Grid, degree: int) -> Grid:
    """Turned clockwise."""
    return rotate_clockwise(grid, degree)  # type: ignore[no-any-return]


def transposed(grid: Grid) -> Grid:
    """Mirrored at the falling diagonal."""
    return horizontal_flip(rotate_clockwise(grid, 90))


def transposed_other(grid: Grid) -> Grid:
    """Mirrored at the rising diagonal."""
    return vertical_flip(rotate_clockwise(grid, 90))


def trimmed(grid: Grid) -> Grid:
    """Without blank margins."""
    cells = [(r, c) for r in range(len(grid)) for c in range(len(grid[0])) if grid[r][c] != "."]
    rows, cols = [r for r, c in cells], [c for r, c in cells]
    return crop_grid(grid, (min(rows), min(cols)), (max(rows), max(cols)))


def trimmed_of_common(grid: Grid) -> Grid:
    """Without margins of the most frequent value."""
    common = most_common(grid)
    cells = [(r, c) for r in range(len(grid)) for c in range(len(grid[0])) if grid[r][c] != common]
    rows, cols = [r for r, c in cells], [c for r, c in cells]
    return crop_grid(grid, (min(rows), min(cols)), (max(rows), max(cols)))


def most_common(grid: Grid) -> str:
    """The most frequent value, blank included; of several the first by letter."""
    values = [cell for row in grid for cell in row]
    return min(sorted(set(values)), key=lambda value: -values.count(value))


def common_as_blank(grid: Grid) -> Grid:
    """The most frequent value and blank exchanged."""
    common = most_common(grid)
    swap = {common: ".", ".": common}
    return [[swap.get(cell, cell) for cell in row] for row in grid]


def without_border(grid: Grid) -> Grid:
    """Without the outermost rows and columns."""
    height, width = get_size(grid)
    return crop_grid(grid, (1, 1), (height - 2, width - 2))


def part(grid: Grid, axis: int, count: int, index: int) -> Grid:
    """One of some equal parts beside (axis 1) or below (axis 0) each other; separators between them are left out."""
    length = get_size(grid)[axis]
    side = (length - count + 1) // count if length % count == count - 1 and count > 1 else length // count
    gap = 1 if side * count + count - 1 == length else 0
    assert side > 0
    assert side * count + gap * (count - 1) == length
    start = index * (side + gap)
    if axis == 0:
        return crop_grid(grid, (start, 0), (start + side - 1, len(grid[0]) - 1))
    return crop_grid(grid, (0, start), (len(grid) - 1, start + side - 1))


def fallen(grid: Grid) -> Grid:
    """All cells fall down as far as they can."""
    columns = [[row[col] for row in grid] for col in range(len(grid[0]))]
    sunk = [["."] * column.count(".") + [cell for cell in column if cell != "."] for column in columns]
    return [[column[row] for column in sunk] for row in range(len(grid))]


def fallen_to(grid: Grid, degree: int) -> Grid:
    """All cells fall to the side that is below after the turn."""
    return rotate_clockwise(fallen(rotate_clockwise(grid, degree)), 360 - degree)  # type: ignore[no-any-return]


def enlarged(grid: Grid, down: int, right: int) -> Grid:
    """Each cell as a block."""
    return [[cell for cell in row for _ in range(right)] for row in grid for _ in range(down)]


def reduced(grid: Grid, down: int, right: int) -> Grid:
    """The first cell of each block."""
    assert len(grid) % down == 0
    assert len(grid[0]) % right == 0
    return [row[::right] for row in grid[::down]]


def tiled(grid: Grid, down: int, right: int) -> Grid:
    """Copies of the grid below and beside each other."""
    return [row * right for _ in range(down) for row in grid]


def colours_large(grid: Grid) -> Grid:
    """Each cell as a square block with a side of the number of colours."""
    side = len(get_pixel_coords(grid))
    return enlarged(grid, side, side)


def cells_large(grid: Grid) -> Grid:
    """Each cell as a square block with a side of the number of cells that are not blank."""
    side = sum(1 for row in grid for cell in row if cell != ".")
    assert side < 11
    return enlarged(grid, side, side)


def beside(first: Grid, second: Grid) -> Grid:
    """The second to the right of the first."""
    assert len(first) == len(second)
    return [left + right for left, right in zip(first, second)]  # noqa: B905 - strict= is not in the language


def below(first: Grid, second: Grid) -> Grid:
    """The second below the first."""
    assert len(first[0]) == len(second[0])
    return first + second


def over(first: Grid, second: Grid) -> Grid:
    """The first, and the second where the first is blank."""
    assert get_size(first) == get_size(second)
    return [
        [b if a == "." else a for a, b in zip(left, right)]  # noqa: B905
        for left, right in zip(first, second)  # noqa: B905
    ]


def without_repeated_rows(grid: Grid) -> Grid:
    """Rows that are equal to the one above left out."""
    return [row for number, row in enumerate(grid) if number == 0 or row != grid[number - 1]]


def condensed(grid: Grid) -> Grid:
    """Rows and columns that repeat the one before left out."""
    return transposed(without_repeated_rows(transposed(without_repeated_rows(grid))))


def without_lines(grid: Grid) -> Grid:
    """Rows and columns of a single value left out."""
    rows = [row for row in grid if len(set(row)) > 1]
    keep = [col for col in range(len(grid[0])) if len({row[col] for row in grid}) > 1]
    return [[row[col] for col in keep] for row in rows]


def without_blank_lines(grid: Grid) -> Grid:
    """Blank rows and columns left out."""
    keep = [col for col in range(len(grid[0])) if any(row[col] != "." for row in grid)]
    return [[row[col] for col in keep] for row in grid if any(cell != "." for cell in row)]


def only_colour(grid: Grid, place: int) -> Grid:
    """The cells of one colour: 0 the most frequent, -1 the rarest."""
    colour = list(get_pixel_coords(grid))[place]
    return [[cell if cell == colour else "." for cell in row] for row in grid]


def without_colour(grid: Grid, place: int) -> Grid:
    """All but the cells of one colour: 0 the most frequent, -1 the rarest."""
    colour = list(get_pixel_coords(grid))[place]
    return [["." if cell == colour else cell for cell in row] for row in grid]


def box_of_colour(grid: Grid, place: int) -> Grid:
    """The bounding box of a colour's cells: 0 the most frequent, -1 the rarest."""
    coords = list(get_pixel_coords(grid).values())[place]
    rows, cols = [r for r, c in coords], [c for r, c in coords]
    return crop_grid(grid, (min(rows), min(cols)), (max(rows), max(cols)))


def inside_of_colour(grid: Grid, place: int) -> Grid:
    """The bounding box of a colour's cells without its own border."""
    return without_border(box_of_colour(grid, place))


def mended(grid: Grid, hole: str) -> Grid:
    """Cells of one value replaced by those at their mirrored places in a grid that is symmetric without them."""
    height, width = get_size(grid)
    made = [list(row) for row in grid]
    best = (-1, 0, 0)
    for down in range(height - 3, height + 3):
        for right in range(width - 3, width + 3):
            pairs = [
                (grid[r][c], grid[down - r][right - c])
                for r in range(0, height, 2) for c in range(0, width, 2)
                if 0 <= down - r < height and 0 <= right - c < width and hole != grid[r][c]
            ]  # fmt: skip
            equal = sum(1 for a, b in pairs if a == b)
            best = max(best, (equal, down, right))
    down, right = best[1], best[2]
    for r in range(height):
        for c in range(width):
            others = [(r, right - c), (down - r, c), (down - r, right - c), (c, r)]
            if grid[r][c] == hole:
                for a, b in others:
                    if 0 <= a < height and 0 <= b < width and grid[a][b] != hole:
                        made[r][c] = grid[a][b]
    return made


def repeated_pattern(grid: Grid, hole: str) -> Grid:
    """Cells of one value replaced as the smallest pattern that repeats in the rest of the grid has them."""
    height, width = get_size(grid)
    for size in sorted([(p, q) for p in range(1, height + 1) for q in range(1, width + 1)], key=lambda s: s[0] * s[1]):
        found: dict[tuple[int, int], str] = {}
        if size[0] * size[1] > height * width // 2:
            break
        if all(
            cell == hole or found.setdefault((r % size[0], c % size[1]), cell) == cell
            for r, row in enumerate(grid) for c, cell in enumerate(row)
        ):  # fmt: skip
            return [[found.get((r % size[0], c % size[1]), hole) for c in range(width)] for r in range(height)]
    return []


def framed(grid: Grid, value: str) -> Grid:
    """The outermost cells set to a value."""
    height, width = get_size(grid)
    made = [[value] * width for _ in range(height)]
    return fill_grid(made, (1, 1), without_border(grid))  # type: ignore[no-any-return]


def one_cell(grid: Grid, place: int) -> Grid:
    """A grid of one cell with a colour: 0 the most frequent, -1 the rarest."""
    return [[list(get_pixel_coords(grid))[place]]]


def colour_bars(grid: Grid) -> Grid:
    """A column of the colours, the most frequent on top."""
    return [[colour] for colour in get_pixel_coords(grid)]


def blank_like(grid: Grid) -> Grid:
    """A blank grid of the same size."""
    return empty_grid(len(grid), len(grid[0]))


Object = dict[str, Any]


def objects_of(grid: Grid, diag: bool, multicolor: bool) -> list[Object]:
    """The connected objects, without enclosed blank regions."""
    found = get_objects(grid, diag=diag, multicolor=multicolor)
    return [obj for obj in found if any(cell not in ".$" for row in obj["grid"] for cell in row)]


def colours_of(grid: Grid) -> list[Object]:
    """An object of each colour."""
    return get_objects(grid, by_color=True)


def blank_regions(grid: Grid) -> list[Object]:
    """The connected blank regions as objects."""
    found = get_objects([["a" if cell == "." else "." for cell in row] for row in grid])
    return [obj for obj in found if any(cell == "a" for row in obj["grid"] for cell in row)]


def measure(obj: Object, kind: str, others: list[Object]) -> Any:
    """A number by which objects are compared."""
    rows = obj["grid"]
    cells = [cell for row in rows for cell in row if cell not in ".$"]
    if kind == "cells":
        return len(cells)
    if kind == "box":
        return len(rows) * len(rows[0])
    if kind == "height":
        return len(rows)
    if kind == "width":
        return len(rows[0])
    if kind == "top":
        return obj["tl"][0]
    if kind == "left":
        return obj["tl"][1]
    if kind == "colours":
        return len(set(cells))
    if kind == "blank":
        return len(rows) * len(rows[0]) - len(cells)
    if kind == "alike":
        return sum(1 for other in others if other["shape"] == obj["shape"])
    if kind == "equal":
        return sum(1 for other in others if other["grid"] == obj["grid"])
    if kind == "colour":
        return sum(1 for other in others if any(cell in cells for row in other["grid"] for cell in row))
    if kind == "symmetric":
        return (horizontal_flip(rows) == rows) + (vertical_flip(rows) == rows)
    return len(cells) - max(cells.count(cell) for cell in cells)


def chosen(objects: list[Object], kind: str, sign: int) -> Object:
    """The one object with most (sign 1) or least (sign -1) of something; fails if several have it, or of many."""
    assert len(objects) <= 24
    values = [sign * measure(obj, kind, objects) for obj in objects]
    assert values.count(max(values)) == 1
    return objects[values.index(max(values))]


def chosen_any(objects: list[Object], kind: str, sign: int) -> Object:
    """The first object with most (sign 1) or least (sign -1) of something; fails if there are many."""
    assert len(objects) <= 24
    values = [sign * measure(obj, kind, objects) for obj in objects]
    return objects[values.index(max(values))]


def alone(obj: Object) -> Grid:
    """The object's own cells."""
    return [["." if cell == "$" else cell for cell in row] for row in obj["grid"]]


def cut_out(grid: Grid, obj: Object) -> Grid:
    """The object's bounding box in a grid."""
    top, left = obj["tl"]
    return crop_grid(grid, (top, left), (top + len(obj["grid"]) - 1, left + len(obj["grid"][0]) - 1))


def cut_inside(grid: Grid, obj: Object) -> Grid:
    """The object's bounding box in a grid without its border."""
    top, left = obj["tl"]
    return crop_grid(grid, (top + 1, left + 1), (top + len(obj["grid"]) - 2, left + len(obj["grid"][0]) - 2))


def only_object(grid: Grid, obj: Object) -> Grid:
    """A blank grid with the object."""
    top, left = obj["tl"]
    rows = obj["grid"]
    return [
        [
            rows[r - top][c - left]
            if 0 <= r - top < len(rows) and 0 <= c - left < len(rows[0]) and rows[r - top][c - left] != "$"
            else "."
            for c in range(len(grid[0]))
        ]
        for r in range(len(grid))
    ]


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


def by_one(first: Any, table: dict[Any, str]) -> Grid:
    """The table's value for each cell's label."""
    return [[table[a] for a in row] for row in first]


def by_two(first: Any, second: Any, table: dict[Any, str]) -> Grid:
    """The table's value for each cell's two labels."""
    return [[table[pair] for pair in zip(left, right)] for left, right in zip(first, second)]  # noqa: B905


def by_three(first: Any, second: Any, third: Any, table: dict[Any, str]) -> Grid:
    """The table's value for each cell's three labels."""
    return [[table[three] for three in zip(a, b, c)] for a, b, c in zip(first, second, third)]  # noqa: B905
