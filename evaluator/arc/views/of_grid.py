"""A view of one grid."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import cast

from evaluator.arc.grids import Grid, letters_of
from evaluator.arc.helpers.functions import get_objects, get_pixel_coords
from evaluator.arc.views.kinds import View
from evaluator.core.canonical_json import JsonValue

_KEPT = 4096
"""Views in memory: all twelve of some fifty tasks, about 20 MB."""


def view_of(grid: Grid, *, view: View, more_info: bool = False) -> JsonValue:
    """A grid in a view, as JSON: coordinates and sizes are lists of two integers.

    Args:
        grid: any grid.
        view: letters are a list of rows; objects are a list of `tl` and `grid`; pixels are a mapping from letters to
            coordinates.
        more_info: whether objects also have `size`, `cell_count` and `shape`.
    """
    # Kept as text, so that callers may change what they get.
    return cast(JsonValue, json.loads(_text(grid, view, more_info and view.is_of_objects)))


@lru_cache(maxsize=_KEPT)
def _text(grid: Grid, view: View, more_info: bool) -> str:
    letters = letters_of(grid)
    value: object = letters
    if view is View.PIXELS:
        value = get_pixel_coords(letters)
    elif view.is_of_objects:
        options: Mapping[str, bool] = view.options
        value = get_objects(letters, **options, more_info=more_info)
    return json.dumps(value, separators=(",", ":"))
