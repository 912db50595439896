"""A candidate as the value of a result, from which answers and later actions take it."""

import json
from dataclasses import dataclass
from enum import StrEnum

from evaluator.core.canonical_json import JsonValue, dumps


class Track(StrEnum):
    """How a candidate says what the outputs are."""

    PROGRAM = "program"
    """A function of the grid, in restricted Python."""
    STEPS = "steps"
    """Calls of the helpers, one after the other."""
    GRIDS = "grids"
    """The outputs of the test inputs themselves."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A candidate."""

    track: Track
    content: JsonValue
    """The program's text, the list of the steps' expressions, or the list of grids of integers."""

    def text(self) -> str:
        """As the value of a result."""
        return dumps({str(self.track): self.content})


def kept_of(value: str) -> Kept | None:
    """The candidate that a result is; None if it is none."""
    if not value.startswith(_BEGINNINGS):
        return None
    ((track, content),) = json.loads(value).items()
    return Kept(Track(track), content)


_BEGINNINGS = tuple(f'{{"{track}":' for track in Track)
