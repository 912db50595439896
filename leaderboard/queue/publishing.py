"""aggregating -> completed: what is ready of a suite is completed and published together.

An evaluation whose scores are computed is ready: it is `aggregating` and has a summary. Whoever makes one ready then
tries to be the publisher of its suite. There is one at a time: it completes all that are ready and publishes each of
their boards once, in one transaction, and looks again after it. Who finds a publisher at work leaves, since its own
evaluation was ready before that one looks for the last time. A publisher that is killed leaves evaluations that are
still `aggregating`, and the sweep comes to these. So publishing costs hardly more for many evaluations of a board than
for one, and one on a quiet site is published at once.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from celery.exceptions import SoftTimeLimitExceeded
from django.db import transaction
from django.db.models import QuerySet

from gpu_jobs.tracing.spans import span
from leaderboard.evaluations.models import (
    Conditions,
    Evaluation,
    EvaluationReason,
    EvaluationState,
    Submission,
    conditions_of_board,
    lock_board,
    lock_for_publishing,
)
from leaderboard.evaluations.states import advance
from leaderboard.evaluations.visibility import is_public
from leaderboard.platform.hooks import Hook

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """What stands on boards has changed; their suite is locked (`board_of.lock_board`)."""

    completed: Sequence[UUID] = ()
    """Evaluations that were completed just now."""
    boards: Sequence[Evaluation]
    """One evaluation of each board, with its suite and planner."""


changed: Hook[Changed] = Hook()
"""Called in the transaction that completes evaluations, or changes which of them may be ranked."""

_TOGETHER = 100
"""So many evaluations are completed in one transaction."""


def publish_again(evaluation: Evaluation) -> None:
    """Publish the board of a completed evaluation, about which something has changed."""
    with transaction.atomic():
        lock_board(evaluation.suite.slug)
        changed.call(Changed(boards=[evaluation]))


def make_ready(*, evaluation: Evaluation, summary: dict[str, Any]) -> bool:
    """Keep the scores of an evaluation. False if it is not `aggregating` in this attempt any more."""
    still = Evaluation.runs.filter(pk=evaluation.pk, state=EvaluationState.AGGREGATING, attempt=evaluation.attempt)
    return bool(still.update(summary=summary))


def published_or_not(submission: Submission) -> EvaluationReason:
    """What a completed evaluation says of itself; whoever asks has locked its suite, so that it stays true."""
    return EvaluationReason.PUBLISHED if is_public(submission) else EvaluationReason.NOT_PUBLIC


def publish_ready(evaluation: Evaluation) -> None:
    """Complete and publish what is ready of an evaluation's suite, this one at least.

    Before: the evaluation is ready.
    After: it is `completed` and on its board if it is public, or another process is about to do that.

    Raises:
        Exception: whatever keeps this evaluation from being published; then nothing changed.
    """
    try:
        with span("publish"):
            while _publish_some(evaluation.suite.slug):
                pass
    except SoftTimeLimitExceeded:
        raise
    except Exception:  # one that cannot be published must not keep all others from it
        logger.exception("evaluations of %s could not be published together", evaluation.suite.slug)
        with transaction.atomic():
            if lock_for_publishing(evaluation.suite.slug):
                _complete_together(list(_ready().filter(pk=evaluation.pk)))


def _publish_some(slug: str) -> bool:
    """Publish what is ready, and say whether there may be more."""
    ready = _ready().filter(suite__slug=slug).order_by("state_since", "pk")
    if not ready.exists():
        return False
    with transaction.atomic():
        if not lock_for_publishing(slug):
            return False
        # What somebody else is changing comes later: whoever holds the suite waits for nobody.
        found = ready.select_for_update(no_key=True, skip_locked=True, of=("self",))
        return _complete_together(list(found[:_TOGETHER]))


def _ready() -> QuerySet[Evaluation]:
    ready = Evaluation.objects.filter(state=EvaluationState.AGGREGATING, summary__isnull=False)
    return ready.filter(own_worker_run__isnull=True).select_related("suite", "submission__planner")


def _complete_together(evaluations: Sequence[Evaluation]) -> bool:
    """Complete evaluations and publish each of their boards once; the suite is locked. False if nothing was to do."""
    boards: dict[tuple[int, Conditions], Evaluation] = {}
    completed = []
    for evaluation in evaluations:
        done = advance(evaluation, target=EvaluationState.COMPLETED, reason=published_or_not(evaluation.submission))
        if done:
            boards[evaluation.suite_id, conditions_of_board(evaluation)] = evaluation
            completed.append(evaluation.pk)
    changed.call(Changed(completed=completed, boards=list(boards.values())))
    return bool(boards)
