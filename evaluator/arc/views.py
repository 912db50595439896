"""The paper's views of a task: the grid as letters, its objects by ten rules, and its cells by colour."""

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import cast

from evaluator.arc.grids import Demonstration, Grid, letters_of, size_of
from evaluator.arc.helpers.functions import get_objects, get_pixel_coords
from evaluator.arc.tasks import ArcTask
from evaluator.core.canonical_json import JsonValue
from evaluator.core.suites.base import Task

_OBJECTS, _MULTICOLOR = "objects", "multicolor"


class View(StrEnum):
    """A representation of a grid. Object views differ in which cells form an object (`get_objects` in the library)."""

    GRID = "grid"
    """Rows of letters, and the size."""
    OBJECTS = "objects"
    """Cells of one colour, connected in four directions."""
    OBJECTS_DIAG = "objects_diag"
    """Cells of one colour, connected in eight directions."""
    OBJECTS_BY_ROW = "objects_by_row"
    """Cells of one colour, connected along rows."""
    OBJECTS_BY_COL = "objects_by_col"
    """Cells of one colour, connected along columns."""
    OBJECTS_BY_COLOR = "objects_by_color"
    """All cells of a colour, connected or not."""
    OBJECTS_MULTICOLOR = "objects_multicolor"
    """As `objects`, but of any colours; likewise the next three."""
    OBJECTS_MULTICOLOR_DIAG = "objects_multicolor_diag"
    OBJECTS_MULTICOLOR_BY_ROW = "objects_multicolor_by_row"
    OBJECTS_MULTICOLOR_BY_COL = "objects_multicolor_by_col"
    OBJECTS_MULTICOLOR_BY_COLOR = "objects_multicolor_by_color"
    """Equal to `objects_by_color`; the paper counts both."""
    PIXELS = "pixels"
    """Coordinates of the cells of each colour except blank, the most frequent colour first."""

    @property
    def is_of_objects(self) -> bool:
        """Whether it shows objects, which have a `more_info` form."""
        return self.startswith(_OBJECTS)

    @property
    def options(self) -> Mapping[str, bool]:
        """Options of `get_objects`, such as `{"multicolor": True, "diag": True}`."""
        rule = self.removeprefix(_OBJECTS).removeprefix("_") if self.is_of_objects else ""
        joins = rule.startswith(_MULTICOLOR)
        rule = rule.removeprefix(_MULTICOLOR).removeprefix("_")
        names = ((_MULTICOLOR,) if joins else ()) + ((rule,) if rule else ())
        return MappingProxyType(dict.fromkeys(names, True))


_CACHED = 4096
"""Cached views: all twelve of about fifty tasks, about 20 MB."""


def view_of(grid: Grid, *, view: View, more_info: bool = False) -> JsonValue:
    """A grid in a view, as JSON: coordinates and sizes are lists of two integers.

    Args:
        grid: any grid.
        view: letters are a list of rows; objects are a list of `tl` and `grid`; pixels are a mapping from letters to
            coordinates.
        more_info: whether objects also have `size`, `cell_count` and `shape`.
    """
    # The cache holds text, so that callers may modify the value.
    return cast(JsonValue, json.loads(_text(grid, view, more_info and view.is_of_objects)))


@lru_cache(maxsize=_CACHED)
def _text(grid: Grid, view: View, more_info: bool) -> str:
    letters = letters_of(grid)
    value: object = letters
    if view is View.PIXELS:
        value = get_pixel_coords(letters)
    elif view.is_of_objects:
        options: Mapping[str, bool] = view.options
        value = get_objects(letters, **options, more_info=more_info)
    return json.dumps(value, separators=(",", ":"))


def task_view(
    *, demonstrations: Sequence[Demonstration], test_inputs: Sequence[Grid], view: View, more_info: bool = False
) -> dict[str, JsonValue]:
    """A task in a view, with the field names of the released prompts. Test outputs are not an argument.

    Returns:
        `train`, a list with the fields of input and output for each demonstration, and `test`, one with those of input:
        `input` and `input_grid_size` (grid), `input_objects` (objects) or `input_pixel_coords` (pixels), and `output`
        instead of `input`.
    """

    def fields(name: str, grid: Grid) -> dict[str, JsonValue]:
        value = view_of(grid, view=view, more_info=more_info)
        if view is View.GRID:
            return {name: value, f"{name}_grid_size": list(size_of(grid))}
        return {f"{name}_{'objects' if view.is_of_objects else 'pixel_coords'}": value}

    train = [fields("input", pair.input) | fields("output", pair.output) for pair in demonstrations]
    return {"train": list(train), "test": [fields("input", grid) for grid in test_inputs]}


_MORE_INFO = "more_info"
_SHOWN = 100


def named_view(task: Task, name: str) -> JsonValue:
    """A task in the view of this name; see `task_view`.

    Raises:
        LookupError: there is no such view; the message lists all.
    """
    assert isinstance(task, ArcTask)
    view, _, option = (part.strip().strip("'\"") for part in name.partition(","))
    if view not in set(View) or option not in {"", _MORE_INFO}:
        there = f"there are: {', '.join(View)}; those of objects take {_MORE_INFO}"
        raise LookupError(f"there is no view {name[:_SHOWN]!r}; {there}")
    return task_view(
        demonstrations=task.demonstrations, test_inputs=task.test_inputs, view=View(view), more_info=bool(option)
    )
