"""The twelve views."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

_OBJECTS, _MULTICOLOR = "objects", "multicolor"


class View(StrEnum):
    """A way to show a grid. Object views differ in which cells are one object (`get_objects` in the library)."""

    GRID = "grid"
    """Rows of letters, and the size."""
    OBJECTS = "objects"
    """Cells of one colour, connected in four directions."""
    OBJECTS_DIAG = "objects_diag"
    """In eight directions."""
    OBJECTS_BY_ROW = "objects_by_row"
    """Along rows only."""
    OBJECTS_BY_COL = "objects_by_col"
    """Along columns only."""
    OBJECTS_BY_COLOR = "objects_by_color"
    """All cells of a colour, connected or not."""
    OBJECTS_MULTICOLOR = "objects_multicolor"
    """As `objects`, of any colours; the same for the next three."""
    OBJECTS_MULTICOLOR_DIAG = "objects_multicolor_diag"
    OBJECTS_MULTICOLOR_BY_ROW = "objects_multicolor_by_row"
    OBJECTS_MULTICOLOR_BY_COL = "objects_multicolor_by_col"
    OBJECTS_MULTICOLOR_BY_COLOR = "objects_multicolor_by_color"
    """The same as `objects_by_color`: the paper counts both."""
    PIXELS = "pixels"
    """Coordinates of the cells of each colour but blank, the most frequent colour first."""

    @property
    def is_of_objects(self) -> bool:
        """Whether it shows objects, so that `more_info` matters."""
        return self.startswith(_OBJECTS)

    @property
    def options(self) -> Mapping[str, bool]:
        """The options of `get_objects` that are set for it, such as `{"multicolor": True, "diag": True}`."""
        rule = self.removeprefix(_OBJECTS).removeprefix("_") if self.is_of_objects else ""
        joins = rule.startswith(_MULTICOLOR)
        rule = rule.removeprefix(_MULTICOLOR).removeprefix("_")
        names = ((_MULTICOLOR,) if joins else ()) + ((rule,) if rule else ())
        return MappingProxyType(dict.fromkeys(names, True))
