"""Taking a published evaluation off the boards, as an operator. History stays: snapshots that hold it are not touched,
its page stays and says what was done and why, and it can be put back."""

from django.db import transaction
from django.db.models.functions import Now

from leaderboard.boards.services import publish_locked
from leaderboard.evaluations.acting import NotPossibleError
from leaderboard.evaluations.board_of import lock_board
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.people.models import User
from leaderboard.platform.audit.services import record
from leaderboard.platform.models import Action

LONGEST_REASON = 400


def hide(evaluation: Evaluation, *, reason: str, by: User | None = None) -> None:
    """Take an evaluation off every board, feed and comparison with others; a new snapshot is without it.

    Raises:
        ValueError: there is no reason, or it is too long; everybody reads it on the evaluation's page.
        NotPossibleError: it is hidden already, or a verification, which is on no board.
    """
    text = reason.strip()
    if not text or len(text) > LONGEST_REASON or not text.isprintable():
        raise ValueError(
            f"Give a reason of 1 to {LONGEST_REASON} characters: it is shown publicly on the evaluation's page."
        )
    with transaction.atomic():
        current = _locked(evaluation)
        if current.verifies_id is not None:
            raise NotPossibleError("This is a verification, which no board shows: hide what it verifies.")
        if current.member_of_id is not None:
            raise NotPossibleError("This is part of a reliability profile, which no board shows: hide its evaluation.")
        if current.hidden_at is not None:
            raise NotPossibleError(f"It is already hidden: {current.hidden_reason}")
        Evaluation.objects.filter(pk=current.pk).update(hidden_at=Now(), hidden_reason=text)
        _finish(current, action=Action.HIDDEN, by=by, details={"reason": text})


def show_again(evaluation: Evaluation, *, by: User | None = None) -> None:
    """Put a hidden evaluation back.

    Raises:
        NotPossibleError: it is not hidden.
    """
    with transaction.atomic():
        current = _locked(evaluation)
        if current.hidden_at is None:
            raise NotPossibleError("It is not hidden.")
        Evaluation.objects.filter(pk=current.pk).update(hidden_at=None, hidden_reason="")
        _finish(current, action=Action.SHOWN_AGAIN, by=by, details={"reason": current.hidden_reason})


def _locked(evaluation: Evaluation) -> Evaluation:
    lock_board(evaluation.suite.slug)
    related = Evaluation.objects.select_related("suite", "submission__planner")
    return related.select_for_update(no_key=True, of=("self",)).get(pk=evaluation.pk)


def _finish(current: Evaluation, *, action: Action, by: User | None, details: dict[str, str]) -> None:
    record(by=by, action=action, target=current, label=current.in_words(), details=details)
    if current.state == EvaluationState.COMPLETED:
        publish_locked(current)
