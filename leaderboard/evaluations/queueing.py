"""Telling the reconciler that there may be something to do, by a message that is written with what it tells of."""

from uuid import UUID

from leaderboard.outbox.models import Kind
from leaderboard.outbox.services import enqueue


def enqueue_reconcile(evaluation_id: UUID) -> None:
    """Ask for a reconcile after the commit. A lost message costs time only: the sweep finds the evaluation."""
    enqueue(kind=Kind.RECONCILE, payload={"evaluation": str(evaluation_id)}, dedup_key=f"reconcile:{evaluation_id}")
