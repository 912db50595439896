"""aggregating -> completed: the ready evaluations of a suite are completed and published together.

An evaluation is ready when its scores are computed: it is `aggregating` and has a summary. The process that makes one
ready then tries to become the publisher of its suite. A suite has one publisher at a time: in one transaction it
completes all ready evaluations and publishes each of their boards once, and then checks again. A process that finds
another publisher leaves, since its evaluation was ready before that publisher's last check. If a publisher is killed,
its evaluations stay `aggregating`, and the sweep recovers them. So publishing many evaluations of a board costs hardly
more than publishing one, and on a quiet site an evaluation is published at once.
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
from leaderboard.catalog.locks import problem_of_lock
from leaderboard.evaluations.models import (
    Conditions,
    Evaluation,
    EvaluationReason,
    EvaluationState,
    conditions_of_board,
    lock_board,
    lock_for_publishing,
)
from leaderboard.evaluations.states import advance, explain
from leaderboard.evaluations.visibility import is_public
from leaderboard.platform.hooks import Hook

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """Boards of a suite have changed; the suite is locked (`evaluations.models.lock_board`)."""

    completed: Sequence[UUID] = ()
    """Evaluations that were just completed."""
    boards: Sequence[Evaluation]
    """One evaluation of each board, with its suite and planner."""


changed: Hook[Changed] = Hook()
"""Called in the transaction that completes evaluations or changes which of them may be ranked."""

_TOGETHER = 100
"""Evaluations that are completed in one transaction."""


def publish_again(evaluation: Evaluation) -> None:
    """Publish the board of a completed evaluation that has changed."""
    with transaction.atomic():
        lock_board(evaluation.suite.slug)
        changed.call(Changed(boards=[evaluation]))


def make_ready(*, evaluation: Evaluation, summary: dict[str, Any], device_class: str) -> bool:
    """Store the scores of an evaluation, and on what devices its experts ran. False if it is no longer `aggregating` in
    this attempt."""
    current = Evaluation.runs.filter(pk=evaluation.pk, state=EvaluationState.AGGREGATING, attempt=evaluation.attempt)
    return bool(current.update(summary=summary, device_class=device_class))


def published_or_not(evaluation: Evaluation) -> tuple[EvaluationReason, dict[str, object]]:
    """The reason of a completed evaluation, and the facts of its sentence. They stay valid while the caller has locked
    the suite."""
    if not is_public(evaluation.submission):
        return EvaluationReason.NOT_PUBLIC, {}
    if evaluation.tasks_missing:
        return EvaluationReason.INCOMPLETE, {"count": evaluation.tasks_missing, "total": evaluation.tasks_total}
    problem = problem_of_lock(
        suite=evaluation.suite.slug, profile=evaluation.profile, rules_digest=evaluation.profile_digest
    )  # fmt: skip
    if problem:
        return EvaluationReason.LOCK_NOT_SIGNED, {"profile": evaluation.profile, "detail": problem}
    return EvaluationReason.PUBLISHED, {}


def accept_locks() -> int:
    """Rank the completed evaluations that waited for a signature of their profile's lock file, if there is one now, and
    return how many."""
    waiting = Evaluation.objects.filter(state=EvaluationState.COMPLETED, reason=EvaluationReason.LOCK_NOT_SIGNED)
    accepted = 0
    for evaluation in waiting.select_related("suite", "submission__planner").order_by("pk"):
        with transaction.atomic():
            lock_board(evaluation.suite.slug)
            reason, facts = published_or_not(evaluation)
            explain(evaluation.pk, source=EvaluationState.COMPLETED, reason=reason, **facts)
            if reason is not EvaluationReason.LOCK_NOT_SIGNED:
                accepted += 1
                changed.call(Changed(boards=[evaluation]))
    return accepted


def publish_ready(evaluation: Evaluation) -> None:
    """Complete and publish the ready evaluations of an evaluation's suite, at least this one.

    Before: the evaluation is ready.
    After: it is `completed` and on its board if it is public, or another process is about to do that.

    Raises:
        Exception: this evaluation cannot be published; nothing changed.
    """
    try:
        with span("publish"):
            while _publish_some(evaluation.suite.slug):
                pass
    except SoftTimeLimitExceeded:
        raise
    except Exception:  # one faulty evaluation must not block the others
        logger.exception("evaluations of %s could not be published together", evaluation.suite.slug)
        with transaction.atomic():
            if lock_for_publishing(evaluation.suite.slug):
                _complete_together(list(_ready().filter(pk=evaluation.pk)))


def _publish_some(slug: str) -> bool:
    """Publish ready evaluations, and return whether there may be more."""
    ready = _ready().filter(suite__slug=slug).order_by("state_since", "pk")
    if not ready.exists():
        return False
    with transaction.atomic():
        if not lock_for_publishing(slug):
            return False
        # Skip locked rows: the holder of the suite's lock waits for no other lock.
        unlocked = ready.select_for_update(no_key=True, skip_locked=True, of=("self",))
        return _complete_together(list(unlocked[:_TOGETHER]))


def _ready() -> QuerySet[Evaluation]:
    ready = Evaluation.objects.filter(state=EvaluationState.AGGREGATING, summary__isnull=False)
    return ready.filter(own_worker_run__isnull=True).select_related("suite", "submission__planner")


def _complete_together(evaluations: Sequence[Evaluation]) -> bool:
    """Complete evaluations and publish each of their boards once; the suite is locked. False if none was completed."""
    boards: dict[tuple[int, Conditions], Evaluation] = {}
    completed = []
    for evaluation in evaluations:
        reason, facts = published_or_not(evaluation)
        done = advance(evaluation, target=EvaluationState.COMPLETED, reason=reason, facts=facts)
        if done:
            boards[evaluation.suite_id, conditions_of_board(evaluation)] = evaluation
            completed.append(evaluation.pk)
    changed.call(Changed(completed=completed, boards=list(boards.values())))
    return bool(boards)
