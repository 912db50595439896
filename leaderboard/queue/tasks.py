"""Celery tasks. Messages carry ids only; all decisions are made from the database."""

from uuid import UUID

from leaderboard.platform.celery import task
from leaderboard.queue import reconcile, stopping
from leaderboard.queue.launching import launcher


@task
def reconcile_evaluation(evaluation_id: str) -> None:
    """Reconcile an evaluation.

    Before: nothing; the evaluation may be in any state, and the message may be delivered twice or late.
    After: a bounded number of steps was taken; if more may be due, another message was sent.
    """
    if reconcile.reconcile_some(UUID(evaluation_id)):
        reconcile_evaluation.apply_async(args=(evaluation_id,))


@task
def sweep() -> None:
    """Reconcile every unfinished evaluation.

    Before: nothing; several sweeps may run at once.
    After: each of them was reconciled, so that evaluations affected by a lost message, a killed process or a deadline
    have moved on.
    """
    reconcile.sweep()


@task
def stop_workers(evaluation_id: str) -> None:
    """Stop the workers of an evaluation that has ended.

    Before: nothing; the evaluation may be in any state, and the message may be delivered twice or late.
    After: if it has ended, its workers were asked to stop.
    """
    stopping.stop_workers(evaluation_id=UUID(evaluation_id), launching=launcher())


@task
def replace_worker(worker: str, evaluation_id: str) -> None:
    """Stop a worker that hangs, and replace one that hangs or has ended.

    Before: nothing; the worker may have moved on, and the message may be delivered twice or late.
    After: if it ran without a lease, it was asked to stop; unless it has moved on, a new worker was requested from the
    launcher.
    """
    launching = launcher()
    ended = launching.alive(handle=worker).alive is False
    if ended or stopping.stop_hung_worker(worker=worker, launching=launching):
        reconcile.refill(UUID(evaluation_id), launching=launching)
