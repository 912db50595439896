"""What a perturbation is: one named way to ask for the same tasks in another form, or to disturb their tools."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from evaluator.core.planner import PlannerRequest
from evaluator.core.suites.base import Suite
from evaluator.episodes.turns.faults import Fault
from evaluator.reliability.renaming import Names


class Kind(StrEnum):
    """What a perturbation changes."""

    REQUEST = "request"
    TOOLS = "tools"
    INPUTS = "inputs"
    FAULTS = "faults"


@dataclass(frozen=True, slots=True)
class Perturbed:
    """A request in another form."""

    request: PlannerRequest
    names: Names | None = None
    """Under which the tools are offered; None: under their own."""


Change = Callable[[PlannerRequest, random.Random], Perturbed | None]
"""Returns None where it cannot be applied to a request."""
Variant = Callable[[Suite, frozenset[str]], Suite]
"""From a suite, as planners are asked, and the tools that plans may call, to the suite with other tasks; a task to
which it does not apply is the same object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Perturbation:
    """One way to perturb an evaluation. Exactly one of `change_for`, `variant_for` and `fault` is set."""

    name: str
    """Stable: it is stored, and is part of addresses and commands."""
    label: str
    """For headings and tables, in lower case."""
    kind: Kind
    definition: str
    """What it does, as a sentence."""
    change_for: Callable[[Suite], Change | None] | None = None
    """The change of the requests of a suite; returns None where the suite has no such form."""
    variant_for: Callable[[Suite], Variant | None] | None = None
    """Other tasks, in which something else may be right; returns None where the suite has none."""
    fault: Fault | None = None
    """What happens to an action of an episode in turns."""
    version: int = 1
    """Raised whenever the same request may be changed otherwise."""
    whole_plans: bool = True
    """Whether it applies where planners are asked for whole plans."""
    in_turns: bool = False
    """Whether it applies where planners are asked turn by turn."""
    without_form: str = ""
    """Why a suite may have no such form, as a sentence."""
    not_in_turns: str = ""
    """Why it does not apply in turns, as a sentence, if that is another reason than for others of its kind."""

    def is_of(self, suite: Suite, *, in_turns: bool) -> bool:
        """Whether it applies to a suite at all."""
        if not (self.in_turns if in_turns else self.whole_plans):
            return False
        forms = [make(suite) for make in (self.change_for, self.variant_for) if make is not None]
        return self.fault is not None or any(form is not None for form in forms)

    def applied_to(self, request: PlannerRequest, *, suite: Suite) -> Perturbed | None:
        """A request of a suite in another form; None where there is none. Turns stay turns.

        The draw depends on the perturbation's name and the task only, so that every planner gets the same form.
        """
        change = None if self.change_for is None else self.change_for(suite)
        # Not a secret: the same form in each run.
        seed = f"{self.name}/{request.suite}/{request.task.id}"
        return None if change is None else change(request, random.Random(seed))  # noqa: S311

    def variant(self, suite: Suite, *, offered: frozenset[str]) -> Suite:
        """The suite with the tasks that are evaluated; itself unless the perturbation has other tasks."""
        make = None if self.variant_for is None else self.variant_for(suite)
        return suite if make is None else make(suite, offered)
