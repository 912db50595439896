"""Requests to queue processes, sent after the commit: reconcile an evaluation, stop workers, replace a worker.

The launcher stops workers of a cancelled or failed evaluation at once. This only saves time and GPUs: otherwise a
worker learns from its next heartbeat that its attempt has ended.
"""

import logging
from uuid import UUID

from gpu_jobs.launchers.base import Launcher, LaunchError, PoolsWorkers
from leaderboard.evaluations.models import Attempt, AttemptState, Evaluation
from leaderboard.evaluations.states import FINAL
from leaderboard.platform.celery import send_on_commit

logger = logging.getLogger(__name__)
RECONCILE_TASK = "leaderboard.queue.tasks.reconcile_evaluation"
STOP_TASK = "leaderboard.queue.tasks.stop_workers"
REPLACE_TASK = "leaderboard.queue.tasks.replace_worker"


def enqueue_reconcile(evaluation_id: UUID) -> None:
    """Request a reconcile after the commit. A lost message only costs time: the sweep finds the evaluation."""
    send_on_commit(RECONCILE_TASK, str(evaluation_id))


def enqueue_stop(evaluation_id: UUID) -> None:
    """Request a stop of the workers after the commit. A lost message only costs time."""
    send_on_commit(STOP_TASK, str(evaluation_id))


def stop_workers(*, evaluation_id: UUID, launching: Launcher) -> list[str]:
    """Stop the workers of an evaluation that has ended, and return their handles. Errors are logged.

    Before: nothing; the evaluation may be in any state, and the message may be delivered twice.
    After: if the evaluation has ended, the workers that held its cancelled attempts were asked to stop.
    """
    if not Evaluation.runs.filter(pk=evaluation_id, state__in=[state.value for state in FINAL]).exists():
        return []
    cancelled = Attempt.objects.filter(shard__evaluation=evaluation_id, state=AttemptState.CANCELLED).order_by("worker")
    # A worker with another lease has noticed and moved on.
    busy = Attempt.objects.filter(state=AttemptState.LIVE).values("worker")
    handles = list(cancelled.exclude(worker__in=busy).values_list("worker", flat=True).distinct())
    # A pool's worker may lease another evaluation's task before the stop arrives, so it decides by itself.
    stop = launching.stop_if_over if isinstance(launching, PoolsWorkers) else launching.stop
    stopped = []
    for handle in handles:
        try:
            stop(handle=handle)
            stopped.append(handle)
        except LaunchError as error:
            logger.warning("%s: %s", handle, error)
    return stopped


def enqueue_replacement(*, worker: str, evaluation_id: UUID) -> None:
    """Request after the commit that a lost worker is replaced, and stopped if it hangs."""
    send_on_commit(REPLACE_TASK, worker, str(evaluation_id))


def stop_hung_worker(*, worker: str, launching: Launcher) -> bool:
    """Stop a worker that may not have noticed the loss of its attempt. False if there is nothing to stop.

    Before: nothing; the message may be delivered twice or late.
    After: the worker was asked to stop, unless it holds another lease or does not belong to the launcher.
    """
    if Attempt.objects.filter(worker=worker, state=AttemptState.LIVE).exists():
        return False
    if launching.alive(handle=worker).alive is not True:
        return False
    try:
        launching.stop_one(handle=worker)
    except LaunchError as error:
        logger.warning("%s: %s", worker, error)
        return False
    logger.warning("stopped %s: it made no progress or lost contact", worker)
    return True
