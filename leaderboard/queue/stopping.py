"""Requests to the queue's processes, sent after the commit: reconcile an evaluation, stop workers, replace a worker.

Workers of an evaluation that was cancelled or has failed are stopped at once, through the launcher. That saves
time and GPUs, no more: a worker that nobody stops learns from its next heartbeat that its attempt is over.
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
    """Ask for a reconcile after the commit. A lost message costs time only: the sweep finds the evaluation."""
    send_on_commit(RECONCILE_TASK, str(evaluation_id))


def enqueue_stop(evaluation_id: UUID) -> None:
    """Ask for the workers to be stopped after the commit. A lost message costs time only."""
    send_on_commit(STOP_TASK, str(evaluation_id))


def stop_workers(*, evaluation_id: UUID, launching: Launcher) -> list[str]:
    """Stop what works for an evaluation that is over, and return the handles. An error is logged.

    Before: nothing; the evaluation may be in any state, and the message may come twice.
    After: if the evaluation was over, the workers that held its cancelled attempts were told to stop.
    """
    stopped = []
    # A worker of a pool may take a task of somebody else's between our look and the stop: it decides by itself.
    stop = launching.stop_if_over if isinstance(launching, PoolsWorkers) else launching.stop
    for handle in _handles(evaluation_id):
        try:
            stop(handle=handle)
            stopped.append(handle)
        except LaunchError as error:
            logger.warning("%s: %s", handle, error)
    return stopped


def enqueue_replacement(*, worker: str, evaluation_id: UUID) -> None:
    """Ask after the commit for another worker in the place of one that is lost, which is stopped if it hangs."""
    send_on_commit(REPLACE_TASK, worker, str(evaluation_id))


def stop_hung_worker(*, worker: str, launching: Launcher) -> bool:
    """Stop a worker that has lost its attempt and may not have noticed. False if there is nothing to stop.

    Before: nothing; the message may come twice or late.
    After: the worker was told to stop, unless it holds another lease, and so has moved on, or is not the launcher's.
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
    logger.warning("stopped %s: it made no progress, or was not heard of any more", worker)
    return True


def _handles(evaluation_id: UUID) -> list[str]:
    """The workers that held tasks of an evaluation that is over, and have not moved on."""
    over = Evaluation.runs.filter(pk=evaluation_id, state__in=[state.value for state in FINAL]).first()
    if over is None:
        return []
    cancelled = Attempt.objects.filter(shard__evaluation=over, state=AttemptState.CANCELLED).order_by("worker")
    busy = Attempt.objects.filter(state=AttemptState.LIVE).values("worker")
    # Who holds another lease has noticed already and moved on.
    return list(cancelled.exclude(worker__in=busy).values_list("worker", flat=True).distinct())
