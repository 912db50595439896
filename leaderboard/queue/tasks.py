"""Celery tasks. They carry ids only; everything they do is decided from the database."""

from uuid import UUID

from leaderboard.platform.celery import task
from leaderboard.queue import reconcile, stopping
from leaderboard.queue.launching import launcher


@task
def reconcile_evaluation(evaluation_id: str) -> None:
    """Take an evaluation further.

    Before: nothing; the evaluation may be in any state, and the message may come twice or late.
    After: it went as far as it can go at once; if that was not far enough, another message asks for more.
    """
    if reconcile.reconcile_some(UUID(evaluation_id)):
        reconcile_evaluation.apply_async(args=(evaluation_id,))


@task
def sweep() -> None:
    """Look at every evaluation that has not ended.

    Before: nothing; several sweeps may run at once.
    After: each of them was reconciled once, so that whatever a lost message, a killed process or a passed deadline
    left behind has moved on.
    """
    reconcile.sweep()


@task
def stop_workers(evaluation_id: str) -> None:
    """Stop the workers of an evaluation that is over.

    Before: nothing; the evaluation may be in any state, and the message may come twice or late.
    After: if it is over, whatever worked for it was told to stop.
    """
    stopping.stop_workers(evaluation_id=UUID(evaluation_id), launching=launcher())


@task
def replace_worker(worker: str, evaluation_id: str) -> None:
    """Stop a worker that hangs, and see that there is another one in the place of one that hangs or has ended.

    Before: nothing; the worker may have moved on, and the message may come twice or late.
    After: if it still ran without a lease, it was told to stop; unless it has moved on, the launcher has been asked for
    a worker again.
    """
    launching = launcher()
    ended = launching.alive(handle=worker).alive is False
    if ended or stopping.stop_hung_worker(worker=worker, launching=launching):
        reconcile.refill(UUID(evaluation_id), launching=launching)
