"""The description of one library function."""

from dataclasses import dataclass
from enum import StrEnum

from evaluator.core.canonical_json import JsonValue


class Kind(StrEnum):
    """What a parameter takes, or a function returns."""

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
    """None: it is required."""

    @property
    def text(self) -> str:
        """As in a signature, such as `degree: integer = 90`."""
        return f"{self.name}: {self.kind}" + ("" if self.default is None else f" = {self.default}")

    def to_json(self) -> dict[str, JsonValue]:
        """The parameter as planners get it."""
        found: dict[str, JsonValue] = {"name": self.name, "type": str(self.kind)}
        return found if self.default is None else {**found, "default": self.default}


@dataclass(frozen=True, slots=True, kw_only=True)
class Helper:
    """One function of the library."""

    name: str
    description: str
    parameters: tuple[Parameter, ...]
    returns: Kind
    changes: str = ""
    """The parameter whose argument it changes; empty: none."""
    is_offered: bool = True
    """Whether planners are told of it. The others may be called all the same, as in 2023."""

    @property
    def signature(self) -> str:
        """Such as `empty_grid(row: integer, col: integer) -> grid`."""
        return f"{self.name}({', '.join(parameter.text for parameter in self.parameters)}) -> {self.returns}"

    def to_json(self) -> dict[str, JsonValue]:
        """The function as planners get it."""
        return {
            "name": self.name,
            "description": self.description,
            "parameters": [parameter.to_json() for parameter in self.parameters],
            "returns": str(self.returns),
            "changes": self.changes or None,
        }
