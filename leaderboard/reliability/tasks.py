"""Celery tasks. They carry ids only; everything they do is decided from the database."""

from uuid import UUID

from leaderboard.platform.celery import task
from leaderboard.reliability import measuring


@task
def measure_profile(evaluation_id: str) -> None:
    """Compute the figures of a profile.

    Before: nothing; its members may still run, and the message may come twice or late.
    After: if all members have ended, the figures are stored.
    """
    measuring.measure(UUID(evaluation_id))


@task
def measure_profiles() -> None:
    """Compute the figures of all profiles whose members have ended: what lost messages and killed processes left.

    Before: nothing; it may run twice at once.
    After: each of them was asked for.
    """
    for profile in measuring.unmeasured():
        measure_profile.apply_async(args=(str(profile.pk),))
