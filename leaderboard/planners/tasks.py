"""Celery tasks of planners."""

from leaderboard.planners import checkpoints
from leaderboard.platform.celery import task


@task
def remove_unused_checkpoints() -> None:
    """Remove checkpoints that were uploaded and never submitted.

    Before: nothing; it may run twice at once.
    After: no checkpoint is left that was unused for a day.
    """
    checkpoints.remove_unused()
