"""The agents of the multi-expert system: each sees a task in views of its own (Tan & Motani 2023)."""

from collections.abc import Sequence
from dataclasses import dataclass

from evaluator.arc.views import View

_PIXELS = "pixels"


@dataclass(frozen=True, slots=True)
class Agent:
    """What an agent sees besides the grids of letters."""

    objects: View | None
    """Objects by one of ten rules, or none."""
    pixels: bool
    """Whether coordinates by colour."""

    @property
    def name(self) -> str:
        """Such as `objects_diag+pixels`."""
        names = ([str(self.objects)] if self.objects else []) + ([_PIXELS] if self.pixels else [])
        return "+".join(names) or str(View.GRID)

    @property
    def views(self) -> tuple[View, ...]:
        """In the order in which they are shown, the grid first."""
        return (View.GRID, *((self.objects,) if self.objects else ()), *((View.PIXELS,) if self.pixels else ()))


_RULES = tuple(view for view in View if view.is_of_objects)
AGENTS = tuple(
    Agent(objects, pixels) for objects in (None, *_RULES) for pixels in (False, True) if objects is not None or pixels
)
"""All 21: ten rules of objects or none, with or without pixels, never neither."""
ONLY_GRID = Agent(None, False)
"""No agent of the paper's, but one that networks are trained as."""
_BY_NAME = {agent.name: agent for agent in (*AGENTS, ONLY_GRID)}


def agent_named(name: str) -> Agent:
    """The agent of a name.

    Raises:
        ValueError: there is none; the sentence lists all.
    """
    found = _BY_NAME.get(name.strip())
    if found is None:
        raise ValueError(f"there is no view {name.strip()!r} of an agent; there are: {', '.join(_BY_NAME)}")
    return found


def agents_named(names: str) -> Sequence[Agent]:
    """The agents of names with commas between, each once.

    Raises:
        ValueError: there is no such agent.
    """
    return tuple(dict.fromkeys(agent_named(name) for name in names.split(",")))
