"""Which runs a profile consists of besides its evaluation, and how they are called. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from evaluator.reliability.perturbations import PERTURBATIONS
from evaluator.reliability.perturbations import Kind as PerturbationKind
from evaluator.reliability.study import RUNS
from leaderboard.planners.kinds.base import Kind


class Condition(NamedTuple):
    """Under which a member runs; the names are those of `Evaluation`'s fields."""

    perturbation: str
    """Empty: unchanged requests."""
    repetition: int

    def in_words(self) -> str:
        """How it is called in sentences."""
        return self.perturbation or f"run {self.repetition}"


def wanted_members(*, tasks: Sequence[str], changed: Mapping[str, Iterable[str]]) -> Mapping[Condition, Sequence[str]]:
    """The tasks of each member of a whole profile, in the order of reports; members without tasks are left out.

    Args:
        tasks: that the evaluation ran, in order.
        changed: by perturbation, the tasks whose requests it changes.
    """
    plain = {Condition("", repetition): list(tasks) for repetition in range(2, RUNS + 1)}
    keys = {name: frozenset(found) for name, found in changed.items()}
    perturbed = {Condition(name, 1): [task for task in tasks if task in found] for name, found in keys.items()}
    return {one: own for one, own in {**plain, **perturbed}.items() if own}


def reaching(changed: Mapping[str, Sequence[str]], *, kind: Kind) -> Mapping[str, Sequence[str]]:
    """The perturbations that reach planners of a kind: agents get the suite's own list of tools over MCP, so that
    nothing would come of changing the tools of their requests.

    Args:
        changed: by perturbation, the tasks whose requests it changes.
        kind: of the planner.
    """
    if not kind.is_agent:
        return changed
    of_tools = {name for name, known in PERTURBATIONS.items() if known.kind is PerturbationKind.TOOLS}
    return {name: tasks for name, tasks in changed.items() if name not in of_tools}


def name_of(condition: Condition) -> str:
    """A run, as pages name it: `run 3`, or the label of its perturbation."""
    known = PERTURBATIONS.get(condition.perturbation)
    return condition.in_words() if known is None else known.label
