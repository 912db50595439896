"""Celery tasks of submissions."""

from leaderboard.platform.celery import task
from leaderboard.submissions import releasing


@task
def release_embargoes() -> None:
    """Publish what was under embargo until now.

    Before: nothing; it may run twice at once.
    After: every submission whose embargo ended before this task began is public, on its boards and in the audit log.
    """
    releasing.release_due()
