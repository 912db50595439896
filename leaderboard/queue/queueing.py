"""Requests for a reconcile."""

from uuid import UUID

from leaderboard.platform.celery import send_on_commit

RECONCILE_TASK = "leaderboard.queue.tasks.reconcile_evaluation"


def enqueue_reconcile(evaluation_id: UUID) -> None:
    """Ask for a reconcile after the commit. A lost message costs time only: the sweep finds the evaluation."""
    send_on_commit(RECONCILE_TASK, str(evaluation_id))
