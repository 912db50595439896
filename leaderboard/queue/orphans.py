"""The other direction of reconciling: workers that run for evaluations which want none any more.

Rows without a worker are found by the sweep, which asks the launcher about each of them.
"""

import logging
from collections.abc import Collection, Sequence

from gpu_jobs.launchers import FindsOrphans, Launcher, LaunchError
from leaderboard.evaluations import transitions
from leaderboard.evaluations.models import Evaluation

logger = logging.getLogger(__name__)


def stop_orphans(launching: Launcher) -> Sequence[str]:
    """Stop workers of evaluations that are over, waiting for their owner, or not in this database; return the handles.

    An error is logged: the next call finds the same.
    """
    if not isinstance(launching, FindsOrphans):
        return []
    try:
        stopped = launching.stop_orphans(wanted=wanting_workers)
    except LaunchError as error:
        logger.warning("%s", error)
        return []
    for handle in stopped:
        logger.warning("stopped %s: its evaluation wants no worker any more", handle)
    return stopped


def wanting_workers(evaluation_ids: Collection[str]) -> set[str]:
    """Which of these evaluations have tasks that workers may take."""
    states = [state.value for state in transitions.LEASABLE]
    found = Evaluation.objects.filter(pk__in=evaluation_ids, state__in=states).values_list("pk", flat=True)
    return {str(pk) for pk in found}
