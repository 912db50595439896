"""Celery tasks of jobs."""

from leaderboard.jobs import services
from leaderboard.site.celery import task


@task
def sweep() -> None:
    """Fail abandoned jobs and delete old ones.

    Before: nothing; several may run at once.
    After: no job is past its deadline without an end, and none can be read for longer than `KEPT`.
    """
    services.sweep()
