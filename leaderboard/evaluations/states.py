"""The only code that writes the state of an evaluation: compare-and-set, with the event that tells it."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from leaderboard.evaluations import transitions
from leaderboard.evaluations.events import announce
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.evaluations.reasons import EvaluationReason, sentence


def deadline_of(state: EvaluationState, *, now: datetime) -> datetime | None:
    """When the reconciler must act on an evaluation that enters `state` now."""
    lasts: timedelta | None = transitions.DEADLINES[state]
    return None if lasts is None else now + lasts


def advance(
    *,
    evaluation_id: UUID,
    source: EvaluationState,
    attempt: int,
    target: EvaluationState,
    reason: EvaluationReason,
    facts: dict[str, object] | None = None,
    **fields: Any,
) -> bool:
    """Take an evaluation from `source` to `target` if it still is in `source` with this `attempt`.

    Before: nothing is assumed; another process may have been faster.
    After: either the row has the new state, reason and deadline, and an event goes out with the commit (True), or
    nothing changed (False).

    Raises:
        IllegalTransitionError: the table does not allow it.
    """
    transitions.check(source=source, target=target)
    now = timezone.now()
    if target in transitions.FINAL:
        fields.setdefault("finished", now)
    with transaction.atomic():
        changed = Evaluation.objects.filter(pk=evaluation_id, state=source, attempt=attempt).update(
            state=target,
            state_since=now,
            state_deadline=deadline_of(target, now=now),
            reason=reason,
            reason_text=sentence(reason, **(facts or {})),
            **fields,
        )
        if changed:
            announce(evaluation_id=evaluation_id)
    return bool(changed)


def explain(
    *, evaluation_id: UUID, source: EvaluationState, reason: EvaluationReason, facts: dict[str, object] | None = None
) -> bool:
    """Change the reason that is shown while an evaluation stays in `source`. False if it is shown already."""
    text = sentence(reason, **(facts or {}))
    with transaction.atomic():
        changed = (
            Evaluation.objects.filter(pk=evaluation_id, state=source)
            .exclude(reason=reason, reason_text=text)
            .update(reason=reason, reason_text=text)
        )
        if changed:
            announce(evaluation_id=evaluation_id)
    return bool(changed)


def note_progress(evaluation_id: UUID) -> None:
    """Give a running evaluation its full time again, because a task has ended."""
    now = timezone.now()
    Evaluation.objects.filter(pk=evaluation_id, state=EvaluationState.RUNNING).update(
        state_deadline=deadline_of(EvaluationState.RUNNING, now=now)
    )
