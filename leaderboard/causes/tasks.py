"""Celery tasks of results."""

from leaderboard.causes import finding as finding_causes
from leaderboard.evaluations.models import Evaluation
from leaderboard.platform.celery import task


@task
def find_causes_beside(evaluation_id: str) -> None:
    """Find causes again with the scores of an evaluation of `gold`.

    Before: the evaluation has completed; it may run twice at once.
    After: the causes of all evaluations with its conditions are those that follow from its scores, or are noted as
    outdated if this process does not have the seed of their hidden data.
    """
    if (evaluation := Evaluation.runs.filter(pk=evaluation_id).first()) is not None:
        finding_causes.find_causes_beside(evaluation)
