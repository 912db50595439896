"""Celery task of the status's history."""

from leaderboard.operations.monitoring import history
from leaderboard.platform.celery import task


@task
def check_status() -> None:
    """Check the status for its history, if no web process does.

    Before: nothing; several may run at once.
    After: the last check is at most a few minutes old.
    """
    history.check_status(serves_pages=False)
