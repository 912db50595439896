"""Functions from grids to grids that the search composes.

The text of a function, without annotations and docstring, is part of the programs that use it, so each is restricted
Python over letter grids and calls only the helpers and functions of this package. None changes its arguments. A
function that does not apply to a grid fails with any exception, or returns an empty grid.
"""

from evaluator.arc.helpers.functions import (
    crop_grid,
    empty_grid,
    fill_grid,
    get_pixel_coords,
    get_size,
    horizontal_flip,
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
