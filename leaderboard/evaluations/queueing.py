"""Telling the reconciler that there may be something to do: once the transaction is committed, and never before."""

import logging
from uuid import UUID

from django.db import transaction

logger = logging.getLogger(__name__)


def enqueue_reconcile(evaluation_id: UUID) -> None:
    """Ask for a reconcile after the commit. A lost message costs time only: the sweep finds the evaluation."""
    transaction.on_commit(lambda: _send(evaluation_id))


def _send(evaluation_id: UUID) -> None:
    from kombu.exceptions import OperationalError

    from leaderboard.evaluations.tasks import reconcile_evaluation

    try:
        reconcile_evaluation.apply_async(args=[str(evaluation_id)], retry=False)
    except (OperationalError, OSError) as error:
        # The row is committed, so the caller's request succeeded; the next sweep does what this message asked for.
        logger.warning("no message for evaluation %s (%s); the sweep will find it", evaluation_id, error)
