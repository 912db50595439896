"""Celery tasks of uploads."""

from leaderboard.platform.celery import task
from leaderboard.platform.coordination import cache
from leaderboard.platform.uploads import services


@task
def sweep() -> None:
    """Remove what is left of uploads that ended half-way, and counters that have expired.

    Before: nothing; it may run twice at once.
    After: neither tickets and counters that have expired are there, nor files that nobody writes to.
    """
    services.sweep()
    cache.prune()
