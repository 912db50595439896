"""Celery task of the status's history and of figures that would otherwise read growing tables."""

from leaderboard.operations.monitoring import history
from leaderboard.operations.monitoring.attempts import count_ended_attempts
from leaderboard.platform.celery import task


@task
def check_status() -> None:
    """Check the status for its history, if no web process does.

    Before: nothing; several may run at once.
    After: the last check is at most a few minutes old, and ended attempts are counted.
    """
    count_ended_attempts()
    history.check_status(serves_pages=False)
