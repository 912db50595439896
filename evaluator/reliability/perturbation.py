"""What a perturbation is: one named way to ask for the same tasks in another form."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from evaluator.planners.protocol import PlannerRequest
from evaluator.reliability.renaming import Names
from evaluator.suites.base import Suite


class Kind(StrEnum):
    """What a perturbation changes."""

    REQUEST = "request"
    TOOLS = "tools"
    INPUTS = "inputs"


@dataclass(frozen=True, slots=True)
class Perturbed:
    """A request in another form."""

    request: PlannerRequest
    names: Names | None = None
    """Under which the tools are offered; None: under their own."""


Change = Callable[[PlannerRequest, random.Random], Perturbed | None]
"""Returns None where it cannot be applied to a request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Perturbation:
    """One way to change requests."""

    name: str
    """Stable: it is stored, and is part of addresses and commands."""
    label: str
    """For headings and tables, in lower case."""
    kind: Kind
    definition: str
    """What it does, as a sentence."""
    change_for: Callable[[Suite], Change | None]
    """The change for the requests of a suite; None where the suite has no such form."""
    version: int = 1
    """Raised whenever the same request may be changed otherwise."""
    in_turns: bool = False
    """Whether it also applies to planners that are asked turn by turn."""

    def applied_to(self, request: PlannerRequest, *, suite: Suite) -> Perturbed | None:
        """A request of a suite in another form; None where there is none. Turns stay turns.

        The draw depends on the perturbation's name and the task only, so that every planner gets the same form.
        """
        change = self.change_for(suite)
        # Not a secret: the same form in each run.
        seed = f"{self.name}/{request.suite}/{request.task.id}"
        return None if change is None else change(request, random.Random(seed))  # noqa: S311
