"""Visibility of submissions: set by their owners, changed when an embargo ends, and overridden by operators, who hide
evaluations from the boards and show them again. Snapshots that contain a hidden evaluation do not change; its page says
who hid it and why.

Boards are published in the same transaction, under the lock that every publisher of a suite takes. So a snapshot never
contains what was private before it, and what a snapshot contains cannot be made private.
"""

import logging
from datetime import datetime
from uuid import UUID

from celery.exceptions import SoftTimeLimitExceeded
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from leaderboard.boards.services import publish_locked
from leaderboard.evaluations.models import (
    Evaluation,
    EvaluationReason,
    EvaluationState,
    Submission,
    Visibility,
    conditions_of_board,
    lock_board,
)
from leaderboard.evaluations.states import explain, request_resync
from leaderboard.evaluations.visibility import NotPossibleError, check, is_public
from leaderboard.people.models import User
from leaderboard.platform.audit import record
from leaderboard.platform.database import database_now
from leaderboard.platform.models import Action
from leaderboard.platform.problems import FieldErrors
from leaderboard.queue.publishing import published_or_not

logger = logging.getLogger(__name__)

_MOST_AT_ONCE = 100
_STAYS_PUBLIC = (
    "This stays public: a published snapshot of a board holds it, and snapshots are never rewritten, so that hiding it "
    "elsewhere would only seem to take it back."
)


def set_visibility(
    submission: Submission, *, visibility: str, embargo_until: datetime | None = None, by: User | None = None
) -> bool:
    """Set the visibility of a submission. False if nothing changes.

    Before: nothing; evaluations may be running or have ended.
    After: public evaluations that may be ranked are on their boards, and event streams of readers who may no longer see
    them are closed. Regrades of its plans have the same visibility.

    Raises:
        FieldErrors: the choice is not possible; nothing was changed.
        NotPossibleError: a snapshot contains one of its evaluations, so it must stay public.
    """
    if errors := check(visibility=visibility, embargo_until=embargo_until):
        raise FieldErrors(errors)
    with transaction.atomic():
        current = _locked_submission(submission.pk)
        before = _state(current)
        was_public = is_public(current)
        current.visibility, current.embargo_until = Visibility(visibility), embargo_until
        if _state(current) == before:
            return False
        is_ranked = current.evaluations.exclude(first_ranked=None).exists
        if was_public and visibility != Visibility.PUBLIC and is_ranked():
            raise NotPossibleError(_STAYS_PUBLIC)
        if visibility != Visibility.PUBLIC:
            current.public_since = None
        elif not was_public:
            current.public_since = database_now()
        _save(current, by=by, action=Action.VISIBILITY_SET, before=before)
        for regrade in Submission.objects.filter(rerun_of__submission=current, is_regrade=True).order_by("pk"):
            set_visibility(regrade, visibility=visibility, embargo_until=embargo_until, by=by)
    return True


def release_due() -> int:
    """Publish submissions whose embargo has ended, and return their number.

    Level-triggered: a later call repeats what a killed process left, and concurrent calls are safe. An error with one
    submission is logged and does not affect the others.
    """
    due = Submission.objects.filter(visibility=Visibility.EMBARGO, embargo_until__lte=Now()).order_by("embargo_until")
    released = 0
    for pk in due.values_list("pk", flat=True)[:_MOST_AT_ONCE]:
        try:
            released += _release(pk)
        except SoftTimeLimitExceeded:
            raise
        except Exception:  # must not keep the others from being published
            logger.exception("the embargo of submission %s is over, but it could not be published", pk)
    return released


def _release(submission_id: UUID) -> bool:
    with transaction.atomic():
        current = _locked_submission(submission_id)
        if current.visibility != Visibility.EMBARGO or not is_public(current):
            return False
        before = _state(current)
        # Public since the end of the embargo, even if this task runs later.
        current.public_since = current.embargo_until
        current.visibility, current.embargo_until = Visibility.PUBLIC, None
        _save(current, by=None, action=Action.EMBARGO_ENDED, before=before)
    return True


_SAY_WHETHER_PUBLISHED = frozenset(
    {
        EvaluationReason.PUBLISHED,
        EvaluationReason.NOT_PUBLIC,
        EvaluationReason.INCOMPLETE,
        EvaluationReason.LOCK_NOT_SIGNED,
    }
)


def _locked_submission(submission_id: UUID) -> Submission:
    """The submission, locked, with the boards of all its suites locked as publishers lock them."""
    entered = Evaluation.objects.filter(submission=submission_id)
    for slug in sorted(set(entered.values_list("suite__slug", flat=True))):
        lock_board(slug)
    return (
        Submission.objects.select_for_update(no_key=True, of=("self",)).select_related("planner").get(pk=submission_id)
    )


def _save(current: Submission, *, by: User | None, action: Action, before: dict[str, str | None]) -> None:
    current.save(update_fields=["visibility", "embargo_until", "public_since"])
    details = {"before": before, "after": _state(current)}
    record(by=by, action=action, target=current, label=current.planner.name, details=details)
    completed = current.evaluations.filter(state=EvaluationState.COMPLETED)
    boards = {}
    for evaluation in completed.select_related("suite", "submission__planner"):
        boards[evaluation.suite_id, conditions_of_board(evaluation)] = evaluation
        if evaluation.reason in _SAY_WHETHER_PUBLISHED:
            reason, facts = published_or_not(evaluation)
            explain(evaluation.pk, source=EvaluationState.COMPLETED, reason=reason, **facts)
    for evaluation in boards.values():
        publish_locked(evaluation)
    for pk in Evaluation.runs.filter(submission=current).values_list("pk", flat=True):
        request_resync(pk)


def _state(submission: Submission) -> dict[str, str | None]:
    until = submission.embargo_until
    return {"visibility": str(submission.visibility), "embargo_until": None if until is None else until.isoformat()}


LONGEST_REASON = 400


def hide(evaluation: Evaluation, *, reason: str, by: User | None = None) -> None:
    """Hide an evaluation from boards, feeds and comparisons. Its boards get a new snapshot without it.

    Raises:
        ValueError: the reason, which is public, is missing, too long or not printable.
        NotPossibleError: it is hidden already, or is on no board.
    """
    text = reason.strip()
    if not text or len(text) > LONGEST_REASON or not text.isprintable():
        raise ValueError(
            f"Give a reason of 1 to {LONGEST_REASON} characters: it is shown publicly on the evaluation's page."
        )
    with transaction.atomic():
        current = _locked_evaluation(evaluation)
        if current.verifies_id is not None:
            raise NotPossibleError("This is a verification, which no board shows: hide what it verifies.")
        if current.is_further_run:
            raise NotPossibleError("This is a further run, which no board shows: hide its evaluation.")
        if current.member_of_id is not None:
            raise NotPossibleError("This is part of a reliability profile, which no board shows: hide its evaluation.")
        if current.hidden_at is not None:
            raise NotPossibleError(f"It is already hidden: {current.hidden_reason}")
        Evaluation.runs.filter(pk=current.pk).update(hidden_at=Now(), hidden_reason=text)
        _finish(current, action=Action.HIDDEN, by=by, details={"reason": text})


def show_again(evaluation: Evaluation, *, by: User | None = None) -> None:
    """Show a hidden evaluation again.

    Raises:
        NotPossibleError: it is not hidden.
    """
    with transaction.atomic():
        current = _locked_evaluation(evaluation)
        if current.hidden_at is None:
            raise NotPossibleError("It is not hidden.")
        Evaluation.runs.filter(pk=current.pk).update(hidden_at=None, hidden_reason="")
        _finish(current, action=Action.SHOWN_AGAIN, by=by, details={"reason": current.hidden_reason})


def _locked_evaluation(evaluation: Evaluation) -> Evaluation:
    lock_board(evaluation.suite.slug)
    related = Evaluation.runs.select_related("suite", "submission__planner")
    return related.select_for_update(no_key=True, of=("self",)).get(pk=evaluation.pk)


def _finish(current: Evaluation, *, action: Action, by: User | None, details: dict[str, str]) -> None:
    record(by=by, action=action, target=current, label=current.in_words(), details=details)
    # Regrades of its plans are on boards of the same suite.
    ranked = Q(pk=current.pk) | Q(submission__rerun_of=current.pk, submission__is_regrade=True)
    completed = Evaluation.objects.filter(ranked, state=EvaluationState.COMPLETED)
    for changed in completed.select_related("suite", "submission__planner").order_by("pk"):
        publish_locked(changed)
