"""Celery tasks of accounts."""

from django.contrib.sessions.backends.db import SessionStore

from leaderboard.people import addresses
from leaderboard.platform.celery import task


@task
def remove_unconfirmed_accounts() -> None:
    """Delete accounts whose email address was not confirmed.

    Before: nothing; concurrent runs are safe.
    After: there is none that was created more than a week ago and never used.
    """
    addresses.remove_unconfirmed()


@task
def clear_expired_sessions() -> None:
    """Delete expired sessions, which record who signed in.

    Before: nothing; concurrent runs are safe.
    After: there is no session that had expired before this task started.
    """
    SessionStore.clear_expired()
