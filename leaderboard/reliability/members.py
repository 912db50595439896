"""The members of a profile, which are its runs besides its evaluation, and their names."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from evaluator.reliability.perturbations import PERTURBATIONS
from evaluator.reliability.perturbations import Kind as PerturbationKind
from evaluator.reliability.study import RUNS
from leaderboard.planners.kinds.base import Kind


class Condition(NamedTuple):
    """The condition of a member, with the names of `Evaluation`'s fields."""

    perturbation: str
    """Empty for unchanged requests."""
    repetition: int

    def in_words(self) -> str:
        """The name of the condition in sentences."""
        return self.perturbation or f"run {self.repetition}"


def members_with_tasks(
    *, tasks: Sequence[str], changed: Mapping[str, Iterable[str]]
) -> Mapping[Condition, Sequence[str]]:
    """The tasks of each member of a whole profile, in the order of reports; members without tasks are left out.

    Args:
        tasks: keys of the tasks that the evaluation ran, in order.
        changed: by perturbation, the tasks whose requests it changes.
    """
    members = {Condition("", repetition): list(tasks) for repetition in range(2, RUNS + 1)}
    for name, keys in changed.items():
        known = frozenset(keys)
        members[Condition(name, 1)] = [task for task in tasks if task in known]
    return {condition: keys for condition, keys in members.items() if keys}


def reaching(changed: Mapping[str, Sequence[str]], *, kind: Kind) -> Mapping[str, Sequence[str]]:
    """The perturbations that have an effect on planners of a kind. Agents receive the suite's own list of tools over
    MCP, so perturbed tools of their requests have none.

    Args:
        changed: by perturbation, the tasks whose requests it changes.
        kind: of the planner.
    """
    if not kind.is_agent:
        return changed
    of_tools = {name for name, known in PERTURBATIONS.items() if known.kind is PerturbationKind.TOOLS}
    return {name: tasks for name, tasks in changed.items() if name not in of_tools}


def name_of(condition: Condition) -> str:
    """The name of a run on pages: `run 3`, or the label of its perturbation."""
    known = PERTURBATIONS.get(condition.perturbation)
    return condition.in_words() if known is None else known.label
