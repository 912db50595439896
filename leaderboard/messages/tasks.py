"""Celery tasks of the outbox."""

from leaderboard.messages import dispatching
from leaderboard.platform.celery import task


@task
def dispatch() -> None:
    """Send what is due.

    Before: nothing; several may run at once.
    After: every message that was due was sent, waits for its next try, or was given up.
    """
    dispatching.dispatch()


@task
def prune() -> None:
    """Delete what was sent or given up long ago.

    Before: nothing. After: none of these messages is left.
    """
    dispatching.prune()
