"""Celery tasks of the outbox."""

from leaderboard.messages import dispatching
from leaderboard.platform.celery import task


@task
def dispatch() -> None:
    """Send due messages.

    Before: nothing; several may run at once.
    After: every due message was sent, waits for a retry, or was given up.
    """
    dispatching.dispatch()


@task
def prune() -> None:
    """Delete expired messages.

    Before: nothing. After: no message is older than its retention period.
    """
    dispatching.prune()
