"""The library functions with their signatures, as descriptions and as a catalogue of tools.

Names and order of parameters follow the released code. Its documentation differs: it orders the parameters of
`get_objects` differently, and writes `coord_1`, `obj_1` or `grid_1` for the code's `coord1`, `obj1` or `pattern1`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from evaluator.core.canonical_json import JsonValue
from evaluator.core.tools.types import Catalogue, ResourceType, Tool


class Kind(StrEnum):
    """Type of a parameter or result."""

    GRID = "grid"
    """A list of rows of one-letter strings."""
    INTEGERS = "grid of integers"
    OBJECT = "object"
    """A dictionary with `tl`, a coordinate, and `grid`; from `get_objects` also `size`, `cell_count` and `shape`."""
    OBJECTS = "list of objects"
    COORDINATE = "coordinate"
    """(row, column), counted from 0."""
    COORDINATES = "list of coordinates"
    CORNERS = "pair of coordinates"
    """Top left and bottom right."""
    PIXELS = "coordinates by colour"
    """A dictionary from colours to lists of coordinates."""
    SIZE = "size"
    """(rows, columns)."""
    COLOUR = "colour"
    """One letter: `a` to `i`, or `.` for blank."""
    PATTERN = "grid or colour"
    GRID_OR_OBJECT = "grid or object"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    LINE = "'row', 'col' or 'diag'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of a function."""

    name: str
    kind: Kind
    default: bool | int | None = None
    """None for a required parameter."""

    @property
    def text(self) -> str:
        """As in a signature, such as `degree: integer = 90`."""
        return f"{self.name}: {self.kind}" + ("" if self.default is None else f" = {self.default}")

    def to_json(self) -> dict[str, JsonValue]:
        """The parameter as planners receive it."""
        default = {} if self.default is None else {"default": self.default}
        return {"name": self.name, "type": str(self.kind), **default}


@dataclass(frozen=True, slots=True, kw_only=True)
class Helper:
    """A function of the library."""

    name: str
    description: str
    parameters: tuple[Parameter, ...]
    returns: Kind
    changes: str = ""
    """Name of the parameter whose argument the function modifies, if any."""
    is_offered: bool = True
    """Whether the catalogue lists it. Programs may call the others too, as in 2023."""

    @property
    def signature(self) -> str:
        """Such as `empty_grid(row: integer, col: integer) -> grid`."""
        return f"{self.name}({', '.join(parameter.text for parameter in self.parameters)}) -> {self.returns}"

    def to_json(self) -> dict[str, JsonValue]:
        """The function as planners receive it."""
        return {
            "name": self.name,
            "description": self.description,
            "parameters": [parameter.to_json() for parameter in self.parameters],
            "returns": str(self.returns),
            "changes": self.changes or None,
        }


_Default = bool | int | None


def _helper(
    name: str, description: str, returns: Kind, *parameters: tuple[str, Kind] | tuple[str, Kind, _Default],
    changes: str = "", is_offered: bool = True,
) -> Helper:  # fmt: skip
    return Helper(
        name=name, description=description, returns=returns, changes=changes, is_offered=is_offered,
        parameters=tuple(
            Parameter(name=row[0], kind=row[1], default=row[2] if len(row) == 3 else None) for row in parameters
        ),
    )  # fmt: skip


_GRID, _OBJ, _VALUE = ("grid", Kind.GRID), ("obj", Kind.OBJECT), ("value", Kind.COLOUR)
_TL, _BR = ("tl", Kind.COORDINATE), ("br", Kind.COORDINATE)
_COORDS = ("coords", Kind.COORDINATES)
_PAIR = (("coord1", Kind.COORDINATE), ("coord2", Kind.COORDINATE))

_VIEWS = (
    _helper(
        "get_objects",
        "Objects of a grid: cells of one colour that are connected, in four directions or with diag in eight. "
        "multicolor joins colours; by_row and by_col join only along rows or columns; by_color makes one object of "
        "each colour. Blank regions inside an object are further objects of cells '$'. more_info adds size, "
        "cell_count and shape.",
        Kind.OBJECTS, _GRID,
        *((name, Kind.BOOLEAN, False) for name in ("diag", "multicolor", "by_row", "by_col", "by_color")),
        ("more_info", Kind.BOOLEAN, True),
    ),
    _helper(
        "get_pixel_coords", "Coordinates of the cells of each colour but blank, the most frequent colour first.",
        Kind.PIXELS, _GRID,
    ),
    _helper("get_size", "Numbers of rows and columns.", Kind.SIZE, _GRID),
)  # fmt: skip
_GRIDS = (
    _helper("empty_grid", "A blank grid.", Kind.GRID, ("row", Kind.INTEGER), ("col", Kind.INTEGER)),
    _helper("crop_grid", "The part from tl to br, both included.", Kind.GRID, _GRID, _TL, _BR),
    _helper("tight_fit", "The grid's objects together, without blank margins.", Kind.GRID, _GRID),
    _helper(
        "combine_object", "Both as one object, obj2 on top. Coordinates must be below 30.", Kind.OBJECT,
        ("obj1", Kind.GRID_OR_OBJECT), ("obj2", Kind.GRID_OR_OBJECT),
    ),
    _helper(
        "rotate_clockwise", "The grid turned clockwise by 90, 180 or 270 degrees.", Kind.GRID, _GRID,
        ("degree", Kind.INTEGER, 90),
    ),
    _helper("horizontal_flip", "The grid with its columns reversed.", Kind.GRID, _GRID),
    _helper("vertical_flip", "The grid with its rows reversed.", Kind.GRID, _GRID),
    _helper(
        "replace", "Replaces each occurrence of pattern1 by pattern2, in reading order.", Kind.GRID, _GRID,
        ("pattern1", Kind.PATTERN), ("pattern2", Kind.PATTERN), changes="grid",
    ),
)  # fmt: skip
_OBJECTS = (
    _helper("get_object_color", "The object's first colour.", Kind.COLOUR, _OBJ),
    _helper(
        "change_object_color", "Gives all cells of the object but blank ones a colour.", Kind.OBJECT, _OBJ, _VALUE,
        changes="obj",
    ),
    _helper(
        "fill_object", "Pastes the object at its place; with align, the object's own grid instead.", Kind.GRID, _GRID,
        _OBJ, ("align", Kind.BOOLEAN, False), changes="grid",
    ),
    _helper("object_contains_color", "Whether some cell of the object has the colour.", Kind.BOOLEAN, _OBJ, _VALUE),
)  # fmt: skip
_FILLS = (
    _helper(
        "fill_row", "Fills a row from start_col to end_col, both included. Cells outside are ignored.", Kind.GRID,
        _GRID, ("row_num", Kind.INTEGER), _VALUE, ("start_col", Kind.INTEGER, 0), ("end_col", Kind.INTEGER, 30),
        changes="grid",
    ),
    _helper(
        "fill_col", "Fills a column from start_row to end_row, both included. Cells outside are ignored.", Kind.GRID,
        _GRID, ("col_num", Kind.INTEGER), _VALUE, ("start_row", Kind.INTEGER, 0), ("end_row", Kind.INTEGER, 30),
        changes="grid",
    ),
    _helper(
        "fill_between_coords", "Fills a straight line, its ends included.", Kind.GRID, _GRID, *_PAIR, _VALUE,
        changes="grid",
    ),
    _helper("fill_rect", "Fills the rectangle from tl to br.", Kind.GRID, _GRID, _TL, _BR, _VALUE, changes="grid"),
    _helper(
        "fill_value", "Fills one cell; a position outside is ignored.", Kind.GRID, _GRID, ("pos", Kind.COORDINATE),
        _VALUE, changes="grid",
    ),
)  # fmt: skip
_LINES = (
    _helper(
        "on_same_line", "Whether two cells share a row, a column or a diagonal that falls to the right.", Kind.BOOLEAN,
        *_PAIR, ("line_type", Kind.LINE),
    ),
)  # fmt: skip
_UNOFFERED = (
    _helper(
        "fill_grid", "Pastes a pattern with its top left cell at tl; cells '$' change nothing.", Kind.GRID, _GRID, _TL,
        ("pattern", Kind.PATTERN), changes="grid", is_offered=False,
    ),
    _helper(
        "obj_to_coords", "Coordinates of the object's cells that are not blank.", Kind.COORDINATES, _OBJ,
        is_offered=False,
    ),
    _helper("create_object", "The object of these cells.", Kind.OBJECT, _GRID, _COORDS, is_offered=False),
    _helper("get_anchor", "Corners of the bounding box.", Kind.CORNERS, _COORDS, is_offered=False),
    _helper("get_middle", "The mean coordinate, rounded half up.", Kind.COORDINATE, _COORDS, is_offered=False),
    _helper(
        "array_to_string", "A grid of integers as letters.", Kind.GRID, ("grid", Kind.INTEGERS), is_offered=False
    ),
    _helper("string_to_array", "A grid of letters as integers.", Kind.INTEGERS, _GRID, is_offered=False),
    _helper(
        "change_object_pos", "Always raises NameError, as in the released code.", Kind.OBJECT, _OBJ,
        ("new_tl", Kind.COORDINATE), is_offered=False,
    ),
)  # fmt: skip

HELPERS: Mapping[str, Helper] = MappingProxyType(
    {helper.name: helper for helper in (*_VIEWS, *_GRIDS, *_OBJECTS, *_FILLS, *_LINES, *_UNOFFERED)}
)
"""Every function by name. The offered ones are those in the paper's prompts."""
NAMES = frozenset(HELPERS) | {"copy"}
"""Names available to programs. `copy` has only `copy.copy` and `copy.deepcopy`; there is no bare `deepcopy`."""


@cache
def library() -> str:
    """Python source that defines every name in `NAMES`, and private names. It imports only `copy`."""
    return files(__package__).joinpath("functions.py").read_text(encoding="utf-8")


def _tool(helper: Helper) -> Tool:
    return Tool(
        name=helper.name,
        domain="grids",
        description=f"{helper.signature}. {helper.description}",
        inputs=MappingProxyType({parameter.name: ResourceType.TEXT for parameter in helper.parameters}),
        outputs=MappingProxyType({str(helper.returns).replace(" ", "_"): ResourceType.TEXT}),
    )


TOOLS = Catalogue(
    name="arc",
    tools=MappingProxyType({name: _tool(helper) for name, helper in HELPERS.items() if helper.is_offered}),
)
