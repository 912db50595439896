"""Functions from grids to objects, and from objects to grids; see `evaluator.arc.planners.search.grids`."""

from typing import Any

from evaluator.arc.helpers.functions import crop_grid, get_objects, horizontal_flip, vertical_flip
from evaluator.arc.planners.search.grids import Grid

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
