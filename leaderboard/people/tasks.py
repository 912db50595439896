"""Celery tasks of accounts."""

from django.contrib.sessions.backends.db import SessionStore

from leaderboard.people import addresses
from leaderboard.platform.celery import task


@task
def remove_unconfirmed_accounts() -> None:
    """Remove accounts whose e-mail address nobody confirmed.

    Before: nothing; it may run twice at once.
    After: none is left that was made more than a week ago and never used.
    """
    addresses.remove_unconfirmed()


@task
def clear_expired_sessions() -> None:
    """Delete sessions that have ended: they note who signed in.

    Before: nothing; it may run twice at once.
    After: no session is left that had expired before this task began.
    """
    SessionStore.clear_expired()
