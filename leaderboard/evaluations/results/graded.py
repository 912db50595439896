"""The results of an evaluation, for what a regrade changed."""

from evaluator.scoring.changes import Graded
from leaderboard.evaluations.models import Evaluation


def graded(evaluation: Evaluation) -> dict[str, Graded]:
    """The results of an evaluation by task, in one query."""
    rows = evaluation.results.values_list("task__key", *Graded._fields)
    return {key: Graded(*values) for key, *values in rows}
