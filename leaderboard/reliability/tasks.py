"""Celery tasks of reliability profiles."""

from uuid import UUID

from leaderboard.platform.celery import task
from leaderboard.reliability import measuring


@task
def measure_profile(evaluation_id: str) -> None:
    """Compute the figures of a profile.

    Before: nothing; members may still run, and the message may be duplicated or late.
    After: if all members have ended, the figures are stored.
    """
    measuring.measure(UUID(evaluation_id))


@task
def measure_profiles() -> None:
    """Compute the figures of all profiles whose members have ended, after lost messages and killed processes.

    Before: nothing; the task may run concurrently with itself.
    After: a message was sent for each of them.
    """
    for profile in measuring.unmeasured():
        measure_profile.apply_async(args=(str(profile.pk),))
