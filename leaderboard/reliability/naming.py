"""How the runs of a profile are called."""

from evaluator.reliability.perturbations import PERTURBATIONS
from leaderboard.reliability.members import Condition


def name_of(condition: Condition) -> str:
    """A run, as pages name it: `run 3`, or the label of its perturbation."""
    known = PERTURBATIONS.get(condition.perturbation)
    return condition.in_words() if known is None else known.label
