"""Celery tasks of votes."""

from leaderboard.platform.celery import task
from leaderboard.votes import services


@task
def close_pairs() -> None:
    """Count votes that nobody has changed for an hour.

    Before: nothing; several may run at once.
    After: as `services.close_pairs`.
    """
    services.close_pairs()
