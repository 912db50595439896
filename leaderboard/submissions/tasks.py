"""Celery tasks of submissions."""

from leaderboard.platform.celery import task
from leaderboard.submissions import releasing


@task
def release_embargoes() -> None:
    """Publish submissions whose embargo has ended.

    Before: nothing; concurrent runs are safe.
    After: every submission whose embargo ended before this task began is public, on its boards and in the audit log.
    """
    releasing.release_due()
