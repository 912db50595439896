"""Celery tasks of uploads."""

from leaderboard.platform.celery import task
from leaderboard.platform.coordination import cache
from leaderboard.platform.uploads import services


@task
def sweep() -> None:
    """Remove the remains of interrupted uploads, and expired counters.

    Before: nothing; concurrent runs are safe.
    After: there are no expired tickets or counters, and no abandoned files.
    """
    services.sweep()
    cache.prune()
