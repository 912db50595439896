"""Celery tasks of causes."""

from leaderboard.causes import finding as finding_causes
from leaderboard.evaluations.models import Evaluation
from leaderboard.platform.celery import task


@task
def find_causes_beside(evaluation_id: str) -> None:
    """Find causes again with the scores of an evaluation of `gold`.

    Before: the evaluation has completed; the task may run concurrently with itself.
    After: the causes of all evaluations under its conditions follow from its scores, or are marked as outdated if this
    process does not have the seed of their hidden data.
    """
    if (evaluation := Evaluation.runs.filter(pk=evaluation_id).first()) is not None:
        finding_causes.find_causes_beside(evaluation)
