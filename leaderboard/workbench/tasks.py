"""Celery tasks of the workbench."""

import logging

from gpu_jobs.launchers.base import LaunchError
from leaderboard.platform.celery import task
from leaderboard.queue.launching import launcher
from leaderboard.workbench import asking, leasing

logger = logging.getLogger(__name__)


@task
def start_workers() -> None:
    """Make sure that a worker runs while a run waits.

    Before: nothing; the message may be delivered twice or late.
    After: a launcher that starts workers by need was asked for one; pools are scaled by their demand.
    """
    if leasing.is_waiting():
        try:
            launcher().ensure_any()
        except LaunchError as error:
            logger.warning("no worker could be started for a run of the workbench: %s", error)


@task
def sweep() -> None:
    """Expire runs of lost workers and readers, and start workers for those that wait and for those to come.

    Before: nothing; several may run at once.
    After: as `leasing.expire`, `start_workers` and the launcher's `keep_ready`.
    """
    leasing.expire()
    start_workers()
    try:
        launcher().keep_ready()
    except LaunchError as error:
        logger.warning("no worker could be started for the next run of the workbench: %s", error)


@task
def forget_old() -> None:
    """Delete old runs.

    Before: nothing.
    After: no run is older than `asking.KEPT`.
    """
    asking.forget_old()
