"""Celery tasks of closed and deleted accounts."""

from leaderboard.operations.leaving import closing
from leaderboard.platform.celery import task


@task
def finish_leaving() -> None:
    """Finish closing and deleting accounts.

    Before: nothing; the task may run concurrently with itself.
    After: closed accounts have no unfinished evaluations, and the names of users deleted more than five minutes ago are
    erased.
    """
    closing.cancel_for_closed_accounts()
    closing.erase_all()
