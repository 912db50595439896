"""Celery tasks."""

from leaderboard.boards.signing import services
from leaderboard.platform.celery import task


@task
def sign_unsigned() -> None:
    """Sign what processes without the key have published.

    Before: nothing; concurrent runs are safe.
    After: every snapshot since the site first signed one has a signature, if this process has the key.
    """
    services.sign_unsigned()
