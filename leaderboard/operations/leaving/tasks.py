"""Celery tasks of accounts that were closed or deleted."""

from leaderboard.operations.leaving import closing
from leaderboard.platform.celery import task


@task
def finish_leaving() -> None:
    """Finish what follows after accounts were closed or deleted.

    Before: nothing; it may run twice at once.
    After: closed accounts have nothing under way, and the names of users who were deleted more than five minutes ago
    are nowhere.
    """
    closing.cancel_for_closed_accounts()
    closing.erase_all()
