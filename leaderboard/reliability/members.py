"""Which runs a profile consists of besides its evaluation. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from evaluator.reliability import RUNS


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
