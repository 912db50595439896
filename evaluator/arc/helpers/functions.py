"""Functions that ARC programs may call, with the behaviour of those released with the multi-expert paper in 2023.

The text of this module is also the library inside the sandbox, so it stands alone: it imports nothing of this package,
and `Any` only for the type checker. Programs see the names in `evaluator.arc.helpers.catalogue`.

Recorded programs depend on the released behaviour, so these oddities are deliberate:

- `fill_*`, `replace` and `change_object_color` change their argument and return it.
- Cells `.` of a pasted pattern erase what is below them; cells `$` do not.
- Where the released functions index without a check, a negative index counts from the end, and one that is too large
  raises IndexError.
- `get_objects` has the order of parameters of the released code, not of its documentation.

Grids are lists of rows of letters: `.` is blank, `a` to `i` are the colours 1 to 9, `$` is transparent and `j` a tenth
colour in place of blank. An object is a dictionary with `tl`, the (row, column) of its top left cell, and `grid`.
"""

import copy as _copy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LETTERS = ".abcdefghij"
_COLOURS = tuple(_LETTERS[1:])
_CANVAS = 30


class _Copying:
    """Has the two functions of the module `copy` and nothing else; like the module, it cannot be called."""

    __slots__ = ()

    @staticmethod
    def copy(value: "Any") -> "Any":
        return _copy.copy(value)

    @staticmethod
    def deepcopy(value: "Any") -> "Any":
        return _copy.deepcopy(value)


copy = _Copying()


def get_size(grid: "Any") -> tuple[int, int]:
    """The numbers of rows and columns."""
    return len(grid), len(grid[0])


def get_middle(coords: "Any") -> tuple[int, int]:
    """The mean coordinate, rounded half up."""
    rows = sum(int(row) for row, _ in coords)
    cols = sum(int(col) for _, col in coords)
    return int(rows / len(coords) + 0.5), int(cols / len(coords) + 0.5)


def get_anchor(coords: "Any") -> tuple[tuple[int, int], tuple[int, int]]:
    """The top left and bottom right corners of the bounding box; (10000, 10000) and (0, 0) without coordinates."""
    top, left, bottom, right = 10000, 10000, 0, 0
    for row, col in coords:
        top, left = min(top, row), min(left, col)
        bottom, right = max(bottom, row), max(right, col)
    return (top, left), (bottom, right)


def array_to_string(grid: "Any") -> "Any":
    """A grid of integers 0 to 10 as letters; a grid of letters is returned as it is."""
    if isinstance(grid[0][0], str):
        return grid
    letters = dict(enumerate(_LETTERS))
    width = len(grid[0])
    return [[letters[row[col]] for col in range(width)] for row in grid]


def string_to_array(grid: "Any") -> "Any":
    """A grid of letters as integers 0 to 10; a grid of integers is returned as it is. KeyError for other letters."""
    if isinstance(grid[0][0], int):
        return grid
    numbers = {letter: number for number, letter in enumerate(_LETTERS)}
    width = len(grid[0])
    return [[numbers[row[col]] for col in range(width)] for row in grid]


def get_pixel_coords(grid: "Any") -> "dict[str, list[tuple[int, int]]]":
    """Coordinates of each colour's cells in reading order; the most frequent colour first, ties by first cell."""
    found: dict[str, list[tuple[int, int]]] = {}
    for row in range(len(grid)):
        for col in range(len(grid[0])):
            value = grid[row][col]
            if value in _COLOURS:
                found.setdefault(value, []).append((row, col))
    return dict(sorted(found.items(), key=lambda entry: -len(entry[1])))


def obj_to_coords(obj: "Any") -> list[tuple[int, int]]:
    """Coordinates of an object's cells that are not blank; transparent ones are included."""
    top, left = obj["tl"]
    rows = obj["grid"]
    height, width = get_size(rows)
    return [(top + row, left + col) for row in range(height) for col in range(width) if rows[row][col] != "."]


def create_object(grid: "Any", coords: "Any") -> "dict[str, Any]":
    """The object of the cells at these coordinates; blank ones become transparent."""
    (top, left), (bottom, right) = get_anchor(coords)
    cells = empty_grid(bottom - top + 1, right - left + 1)
    for row, col in coords:
        value = grid[row][col]
        cells[row - top][col - left] = "$" if value == "." else value
    return {"tl": (top, left), "grid": cells}


def get_objects(
    grid: "Any",
    diag: bool = False,
    multicolor: bool = False,
    by_row: bool = False,
    by_col: bool = False,
    by_color: bool = False,
    more_info: bool = True,
) -> "list[dict[str, Any]]":
    """The objects of a grid in reading order of their first cells, and then the blank regions that they enclose.

    A region is enclosed if it does not touch the edge of the object's grid; it is an object of `$` cells. None is
    looked for with `by_color`, or in grids with the colour `j`.
    """
    rows, cols = get_size(grid)
    has_tenth_colour = any("j" in line for line in grid)
    if by_color:
        return [_made(grid=grid, cells=cells, more_info=more_info) for cells in get_pixel_coords(grid).values()]
    steps = _steps(diag=diag, by_row=by_row, by_col=by_col)
    found: list[dict[str, Any]] = []
    visited: set[tuple[int, int]] = set()
    for row in range(rows):
        for col in range(cols):
            value = grid[row][col]
            if (row, col) in visited or value == "." or value == 0:
                continue
            cells = _region(
                grid=grid, start=(row, col), value=None if multicolor else value, steps=steps, visited=visited
            )
            found.append(_made(grid=grid, cells=cells, more_info=more_info))
    if has_tenth_colour:
        return found
    return found + [hole for obj in found for hole in _holes(obj=obj, steps=steps, more_info=more_info)]


def _steps(*, diag: bool, by_row: bool, by_col: bool) -> list[tuple[int, int]]:
    """The neighbours of a cell. `by_row` and `by_col` exclude diagonal ones, and both together exclude all."""
    vertical = [] if by_row else [(-1, 0), (1, 0)]
    horizontal = [] if by_col else [(0, -1), (0, 1)]
    diagonal = [(-1, -1), (-1, 1), (1, -1), (1, 1)] if diag and not by_row and not by_col else []
    return vertical + horizontal + diagonal


def _region(*, grid: "Any", start: "Any", value: "Any", steps: "Any", visited: "Any") -> "set[tuple[int, int]]":
    """The connected cells of a value, or without one of any colour; they are added to `visited`.

    The released function is recursive; a region is the same set either way, and large grids are no error here.
    """
    rows, cols = get_size(grid)
    cells: set[tuple[int, int]] = set()
    open_cells = [start]
    while open_cells:
        place = open_cells.pop()
        row, col = place
        if not (0 <= row < rows and 0 <= col < cols) or place in visited:
            continue
        cell = grid[row][col]
        if (cell in (".", "$")) if value is None else (cell != value):
            continue
        visited.add(place)
        cells.add(place)
        for down, right in steps:
            open_cells.append((row + down, col + right))
    return cells


def _holes(*, obj: "Any", steps: "Any", more_info: bool) -> "list[dict[str, Any]]":
    """The blank regions of an object that do not touch its edge, connected as the object's own cells are."""
    grid = obj["grid"]
    rows, cols = get_size(grid)
    top, left = obj["tl"]
    found: list[dict[str, Any]] = []
    visited: set[tuple[int, int]] = set()
    for row in range(rows):
        for col in range(cols):
            if (row, col) in visited or grid[row][col] != ".":
                continue
            cells = _region(grid=grid, start=(row, col), value=".", steps=steps, visited=visited)
            if any(r in (0, rows - 1) or c in (0, cols - 1) for r, c in cells):
                continue
            hole = _made(grid=grid, cells=cells, more_info=more_info)
            hole["tl"] = (hole["tl"][0] + top, hole["tl"][1] + left)
            found.append(hole)
    return found


def _made(*, grid: "Any", cells: "Any", more_info: bool) -> "dict[str, Any]":
    obj = create_object(grid, cells)
    if more_info:
        obj["size"] = get_size(obj["grid"])
        obj["cell_count"] = len(cells)
        obj["shape"] = [["." if cell == "." else "x" for cell in row] for row in obj["grid"]]
    return obj


def combine_object(obj1: "Any", obj2: "Any") -> "dict[str, Any]":
    """Both objects as one, the second on top; a grid counts as an object at (0, 0). Cells must lie on 30 x 30."""
    first, second = (obj if isinstance(obj, dict) else {"tl": (0, 0), "grid": obj} for obj in (obj1, obj2))
    canvas = empty_grid(_CANVAS, _CANVAS)
    for obj in (first, second):
        canvas = fill_grid(canvas, obj["tl"], obj["grid"])
    return create_object(canvas, obj_to_coords(first) + obj_to_coords(second))


def tight_fit(grid: "Any") -> "list[list[Any]]":
    """The grid of all objects combined, without blank margins. IndexError if there is no object."""
    objects = get_objects(grid)
    combined = objects[0]
    for obj in objects[1:]:
        combined = combine_object(combined, obj)
    return combined["grid"]  # type: ignore[no-any-return]


def empty_grid(row: int, col: int) -> "list[list[Any]]":
    """A blank grid of this many rows and columns."""
    return [["." for _ in range(col)] for _ in range(row)]


def crop_grid(grid: "Any", tl: "Any", br: "Any") -> "list[list[Any]]":
    """The part of a grid from its top left to its bottom right cell, both included."""
    return [[grid[row][col] for col in range(tl[1], br[1] + 1)] for row in range(tl[0], br[0] + 1)]


def rotate_clockwise(grid: "Any", degree: int = 90) -> "Any":
    """The grid turned by as many quarters as `degree` contains whole; a copy even for none."""
    turned = _copy.deepcopy(grid)
    for _ in range(degree // 90):
        height = len(turned)
        turned = [[turned[row][col] for row in range(height)][::-1] for col in range(len(turned[0]))]
    return turned


def horizontal_flip(grid: "Any") -> "list[Any]":
    """Columns in reverse order, as new rows."""
    return [row[::-1] for row in grid]


def vertical_flip(grid: "Any") -> "list[Any]":
    """Rows in reverse order; they are the rows of the argument itself."""
    return list(grid[::-1])


def replace(grid: "Any", pattern1: "Any", pattern2: "Any") -> "Any":
    """Replaces each occurrence of one pattern by another, in reading order. A pattern may be one value.

    Replaced cells take part in later comparisons.
    """
    wanted, pasted = (item if isinstance(item, list) else [[item]] for item in (pattern1, pattern2))
    height, width = get_size(wanted)
    for row in range(len(grid) - height + 1):
        for col in range(len(grid[0]) - width + 1):
            if crop_grid(grid, (row, col), (row + height - 1, col + width - 1)) == wanted:
                grid = fill_grid(grid, (row, col), pasted)
    return grid


def get_object_color(obj: "Any") -> "Any":
    """The first cell that is not blank, which may be `$`; `.` if all are."""
    rows = obj["grid"]
    values = (rows[row][col] for row in range(len(rows)) for col in range(len(rows[0])))
    return next((value for value in values if value != "."), ".")


def change_object_color(obj: "Any", value: "Any") -> "Any":
    """Sets all cells of an object that are not blank, also transparent ones."""
    rows = obj["grid"]
    for row in range(len(rows)):
        for col in range(len(rows[0])):
            if rows[row][col] != ".":
                rows[row][col] = value
    return obj


def change_object_pos(obj: "Any", new_tl: "Any") -> "Any":  # noqa: ARG001 (the released signature)
    """Always fails, as the released function does: it reads a variable that it never sets."""
    raise NameError("name 'tl' is not defined", name="tl")


def fill_grid(grid: "Any", tl: "Any", pattern: "Any") -> "Any":
    """Pastes a pattern, or one value; `$` leaves a cell as it is, and cells outside the grid are ignored."""
    top, left = tl
    cells = pattern if isinstance(pattern, list) else [[pattern]]
    for row in range(len(cells)):
        for col in range(len(cells[0])):
            if 0 <= row + top < len(grid) and 0 <= col + left < len(grid[0]) and cells[row][col] != "$":
                grid[row + top][col + left] = cells[row][col]
    return grid


def fill_object(grid: "Any", obj: "Any", align: bool = False) -> "Any":
    """Pastes an object at its place; with `align` returns the object's own grid instead."""
    return obj["grid"] if align else fill_grid(grid, obj["tl"], obj["grid"])


def fill_value(grid: "Any", pos: "Any", value: "Any") -> "Any":
    """Sets one cell; a position outside the grid is ignored."""
    row, col = pos
    if 0 <= row < len(grid) and 0 <= col < len(grid[0]):
        grid[row][col] = value
    return grid


def fill_row(grid: "Any", row_num: int, value: "Any", start_col: int = 0, end_col: int = 30) -> "Any":
    """Sets the cells of a row from one column to another, both included."""
    return fill_rect(grid, (row_num, start_col), (row_num, end_col), value)


def fill_col(grid: "Any", col_num: int, value: "Any", start_row: int = 0, end_row: int = 30) -> "Any":
    """Sets the cells of a column from one row to another, both included."""
    return fill_rect(grid, (start_row, col_num), (end_row, col_num), value)


def fill_rect(grid: "Any", tl: "Any", br: "Any", value: "Any") -> "Any":
    """Sets the cells of a rectangle, both corners included."""
    for row in range(tl[0], br[0] + 1):
        for col in range(tl[1], br[1] + 1):
            fill_value(grid, (row, col), value)
    return grid


def fill_between_coords(grid: "Any", coord1: "Any", coord2: "Any", value: "Any") -> "Any":
    """Sets the cells of a straight line, its ends included; cells outside the grid are ignored.

    Equal ends set that cell without a check of its place.
    """
    if coord1 == coord2:
        grid[coord1[0]][coord1[1]] = value
        return grid
    down, right = coord1[0] - coord2[0], coord1[1] - coord2[1]
    length = max(abs(down), abs(right))
    height, width = get_size(grid)
    for step in range(length + 1):
        row, col = coord1[0] - step * down // length, coord1[1] - step * right // length
        if 0 <= row < height and 0 <= col < width:
            grid[row][col] = value
    return grid


def object_contains_color(obj: "Any", value: "Any") -> bool:
    """Whether some cell of the object has this value."""
    rows = obj["grid"]
    return any(rows[row][col] == value for row in range(len(rows)) for col in range(len(rows[0])))


def on_same_line(coord1: "Any", coord2: "Any", line_type: str) -> bool:
    """Whether two coordinates share a row (`row`), a column (`col`) or a falling diagonal (`diag`)."""
    if line_type == "row":
        return bool(coord1[0] == coord2[0])
    if line_type == "col":
        return bool(coord1[1] == coord2[1])
    return line_type == "diag" and bool(coord1[0] - coord2[0] == coord1[1] - coord2[1])
