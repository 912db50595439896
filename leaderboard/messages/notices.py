"""Notifications of users through the outbox: about evaluations, by email and webhook, and about new passwords.

Events of a webhook:

    {"event": "evaluation", "evaluation", "attempt", "suite", "planner", "state", "reason", "reason_text", "url"}
    {"event": "reliability", "evaluation", "suite", "planner", "state": "measured", "gaps", "url"}
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

from django.conf import settings
from django.urls import reverse

from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.evaluations.states import Entered
from leaderboard.messages.models import Kind, Webhook
from leaderboard.messages.outbox import enqueue
from leaderboard.people.credentials import PasswordEvent, PasswordSet
from leaderboard.people.models import Mails, User
from leaderboard.platform.problems import FieldErrors

BY_MAIL = frozenset({EvaluationState.ON_HOLD, EvaluationState.FAILED})
"""States that need the owner's attention."""
BY_MAIL_TOO = frozenset({EvaluationState.COMPLETED})
"""States for which users who opted in get an email. Cancelled is absent: its owner cancelled it."""
BY_WEBHOOK = BY_MAIL | {EvaluationState.COMPLETED, EvaluationState.CANCELLED}


_HAPPENED = {
    EvaluationState.ON_HOLD: "needs your action",
    EvaluationState.FAILED: "failed",
    EvaluationState.COMPLETED: "is complete",
}


def notify_owner(event: Entered) -> None:
    """Enqueue the messages for an evaluation's new state, within the transaction of the transition.

    Verifications send none: `notify_of_verdict` reports their verdict. Members of a reliability profile only send
    messages that need the owner's action.
    """
    if event.state not in BY_WEBHOOK:
        return
    evaluation = _read(event.evaluation_id)
    if evaluation.verifies_id is not None or (evaluation.member_of_id and evaluation.state != EvaluationState.ON_HOLD):
        return
    opted_in = evaluation.submission.submitted_by.mails == Mails.ENDED
    if evaluation.state in BY_MAIL or (evaluation.state in BY_MAIL_TOO and opted_in):
        _mail_owner(evaluation, event=_HAPPENED[EvaluationState(evaluation.state)])
    if evaluation.state in BY_WEBHOOK:
        _call_webhooks(evaluation, event=_event(evaluation))


def notify_of_profile(*, evaluation_id: UUID, gaps: int) -> None:
    """Enqueue the messages that the reliability profile of this evaluation is measured, within the transaction that
    stores its figures. Only owners who opted in get an email.

    Args:
        evaluation_id: the evaluation.
        gaps: runs without figures.
    """
    evaluation = _read(evaluation_id)
    if evaluation.submission.submitted_by.mails == Mails.ENDED:
        what = _what(evaluation)
        lines = [f"The reliability profile of {what} is measured."]
        if gaps:
            lines += ["", f"Runs without figures: {gaps}. The page says why."]
        subject = f"reliability of {what} is measured"
        _mail(evaluation, subject=subject, lines=lines, address=_profile_address(evaluation))
    event = {
        "event": "reliability",
        "evaluation": str(evaluation.pk),
        "suite": evaluation.suite.slug,
        "planner": evaluation.submission.planner.name,
        "state": "measured",
        "gaps": gaps,
        "url": _profile_address(evaluation),
    }
    _call_webhooks(evaluation, event=event)


def notify_of_verdict(*, evaluation_id: UUID, agrees: bool) -> None:
    """Enqueue the messages about a verification of this evaluation, within the transaction of its verdict."""
    evaluation = _read(evaluation_id)
    if not agrees:
        _mail_owner(evaluation, event="was not verified")
    _call_webhooks(evaluation, event=_event(evaluation))


def _read(evaluation_id: UUID) -> Evaluation:
    related = Evaluation.runs.select_related("suite", "submission__planner", "submission__submitted_by")
    return related.get(pk=evaluation_id)


def _mail_owner(evaluation: Evaluation, *, event: str) -> None:
    what = _what(evaluation)
    lines = [f"Your evaluation of {what} {event}.", "", evaluation.reason_text]
    _mail(evaluation, subject=f"{what} {event}", lines=lines, address=_address(evaluation))


def _mail(evaluation: Evaluation, *, subject: str, lines: Sequence[str], address: str) -> None:
    """Enqueue an email to the owner, if they have an address and have not opted out."""
    owner = evaluation.submission.submitted_by
    if not owner.email or not owner.is_active or not settings.MAIL_OWNERS or owner.mails == Mails.NONE:
        return
    settings_at = f"Email settings: {settings.SITE_URL}{reverse('outbox:webhooks')}"
    text = "\n".join([*lines, *(["", address, "", settings_at] if address else [])])
    # A subject is one line; names are printable, titles come from the library.
    subject = " ".join(f"PlanArena: {subject}".split())
    enqueue(kind=Kind.MAIL, payload={"to": owner.email, "subject": subject, "text": f"{text}\n"})


def _call_webhooks(evaluation: Evaluation, *, event: Mapping[str, object]) -> None:
    owner = evaluation.submission.submitted_by
    for webhook in Webhook.objects.filter(owner=owner, owner__is_active=True, active=True).order_by("pk"):
        enqueue(kind=Kind.WEBHOOK, payload={"webhook": str(webhook.pk), "event": event})


def _what(evaluation: Evaluation) -> str:
    return f"{evaluation.submission.planner.name} on {evaluation.suite.title}"


def _event(evaluation: Evaluation) -> dict[str, object]:
    return {
        "event": "evaluation",
        "evaluation": str(evaluation.pk),
        "attempt": evaluation.attempt,
        "suite": evaluation.suite.slug,
        "planner": evaluation.submission.planner.name,
        "state": evaluation.state,
        "reason": evaluation.reason,
        "reason_text": evaluation.reason_text,
        "url": _address(evaluation),
    }


def _address(evaluation: Evaluation) -> str:
    return f"{settings.SITE_URL}/evaluations/{evaluation.pk}/" if settings.SITE_URL else ""


def _profile_address(evaluation: Evaluation) -> str:
    address = _address(evaluation)
    return f"{address}reliability/" if address else ""


def choose_mails(*, user: User, mails: str) -> None:
    """Set which emails the user gets.

    Raises:
        FieldErrors: there is no such choice.
    """
    if mails not in Mails.values:
        raise FieldErrors({"mails": [f"Choose one of {', '.join(Mails.values)}."]})
    user.mails = mails
    user.save(update_fields=["mails"])


def notify_of_password(changed: PasswordSet) -> None:
    """Enqueue the email about a new password, within the transaction that sets it. Demos send none."""
    user = changed.user
    if settings.DEMO or not user.email:
        return
    done = "changed" if changed.event is PasswordEvent.CHANGED else "reset by the link in an email"
    lines = [
        f"The password of your account {user.username} was {done}. Other browsers are signed out.",
        "",
        *(f"Ended: {credential.kind} {credential.name}" for credential in changed.ended),
        *([f"Tokens kept: {changed.kept}"] if changed.kept else []),
        "",
        "If this was not you, reset your password immediately"
        + (f": {settings.SITE_URL}/accounts/password/reset/" if settings.SITE_URL else "."),
    ]
    # Through the outbox: a hanging mail server must not block the change.
    payload = {"to": user.email, "subject": "Your password was changed", "text": "\n".join(lines)}
    enqueue(kind=Kind.MAIL, payload=payload)
