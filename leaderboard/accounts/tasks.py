"""Celery tasks of accounts."""

from leaderboard.accounts import addresses
from leaderboard.config.celery import task


@task
def remove_unconfirmed_accounts() -> None:
    """Remove accounts whose e-mail address nobody confirmed.

    Before: nothing; it may run twice at once.
    After: none is left that was made more than a week ago and never used.
    """
    addresses.remove_unconfirmed()
