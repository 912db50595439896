"""The agents of the multi-expert system, which differ in their views of a task (Tan & Motani 2023)."""

from collections.abc import Sequence
from dataclasses import dataclass

from evaluator.arc.views import View

_PIXELS = "pixels"


@dataclass(frozen=True, slots=True)
class Agent:
    """The views of an agent in addition to the grids of letters."""

    objects: View | None
    """One of the ten object views, or none."""
    pixels: bool
    """Whether it has the view of coordinates by colour."""

    @property
    def name(self) -> str:
        """Such as `objects_diag+pixels`."""
        names = ([str(self.objects)] if self.objects else []) + ([_PIXELS] if self.pixels else [])
        return "+".join(names) or str(View.GRID)

    @property
    def views(self) -> tuple[View, ...]:
        """In the order of the prompt, the grid first."""
        return (View.GRID, *((self.objects,) if self.objects else ()), *((View.PIXELS,) if self.pixels else ()))


_RULES = tuple(view for view in View if view.is_of_objects)
AGENTS = tuple(
    Agent(objects, pixels) for objects in (None, *_RULES) for pixels in (False, True) if objects is not None or pixels
)
"""The paper's 21 agents: an object view, the pixel view, or both."""
ONLY_GRID = Agent(None, False)
"""Not among the paper's agents; used to train networks."""
_BY_NAME = {agent.name: agent for agent in (*AGENTS, ONLY_GRID)}
AGENT_NAMES = tuple(_BY_NAME)
"""Names of all agents."""


def agent_named(name: str) -> Agent:
    """The agent with a name.

    Raises:
        ValueError: there is no such agent; the message lists all.
    """
    agent = _BY_NAME.get(name.strip())
    if agent is None:
        raise ValueError(f"there is no view {name.strip()!r} of an agent; there are: {', '.join(_BY_NAME)}")
    return agent


def agents_named(names: str) -> Sequence[Agent]:
    """The agents of comma-separated names, without duplicates.

    Raises:
        ValueError: there is no such agent.
    """
    return tuple(dict.fromkeys(agent_named(name) for name in names.split(",")))
