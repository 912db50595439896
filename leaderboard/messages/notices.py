"""Notifications of users, through the outbox: of their evaluations, by mail and webhook, and of a new password.

Events of a webhook:

    {"event": "evaluation", "evaluation", "attempt", "suite", "planner", "state", "reason", "reason_text", "url"}
    {"event": "reliability", "evaluation", "suite", "planner", "state": "measured", "gaps", "url"}
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
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
"""What owners cannot know otherwise and have to act upon."""
BY_MAIL_TOO = frozenset({EvaluationState.COMPLETED})
"""What those get a mail of who want one whenever an evaluation ends. Who cancels one knows."""
BY_WEBHOOK = BY_MAIL | {EvaluationState.COMPLETED, EvaluationState.CANCELLED}


_HAPPENED = {
    EvaluationState.ON_HOLD: "needs your action",
    EvaluationState.FAILED: "failed",
    EvaluationState.COMPLETED: "is complete",
}


def tell_owner(event: Entered) -> None:
    """Write the messages that an evaluation's new state calls for, within the transaction that brought it there.

    Verifications send none: `tell_verdict` reports their verdict. Members of a reliability profile send only those that
    their owner has to act on.
    """
    if event.state not in BY_WEBHOOK:
        return
    evaluation = _read(event.evaluation_id)
    if evaluation.verifies_id is not None or (evaluation.member_of_id and evaluation.state != EvaluationState.ON_HOLD):
        return
    if evaluation.state in BY_MAIL or (evaluation.state in BY_MAIL_TOO and _wants(evaluation) == Mails.ENDED):
        _send_mail(evaluation=evaluation, happened=_HAPPENED[EvaluationState(evaluation.state)])
    if evaluation.state in BY_WEBHOOK:
        _call_webhooks(evaluation, event=_event(evaluation))


def tell_profile(*, evaluation_id: UUID, gaps: int) -> None:
    """Write the messages that the reliability profile of this evaluation is measured, within the transaction that
    stores its figures. By mail only to owners who want one whenever something ends.

    Args:
        gaps: runs without figures.
    """
    evaluation = _read(evaluation_id)
    if _wants(evaluation) == Mails.ENDED:
        _mail_owner(evaluation=evaluation, mail=partial(_profile_mail, evaluation=evaluation, gaps=gaps))
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


def tell_verdict(*, evaluation_id: UUID, agrees: bool) -> None:
    """Write the messages about a verification of this evaluation, within the transaction of its verdict."""
    evaluation = _read(evaluation_id)
    if not agrees:
        _send_mail(evaluation=evaluation, happened="was not verified")
    _call_webhooks(evaluation, event=_event(evaluation))


def _read(evaluation_id: UUID) -> Evaluation:
    related = Evaluation.runs.select_related("suite", "submission__planner", "submission__submitted_by")
    return related.get(pk=evaluation_id)


def _send_mail(*, evaluation: Evaluation, happened: str) -> None:
    _mail_owner(evaluation=evaluation, mail=partial(_mail, evaluation=evaluation, happened=happened))


def _mail_owner(*, evaluation: Evaluation, mail: Callable[..., dict[str, str]]) -> None:
    """Send the owner what `mail` makes of an address, if they have one and want any mail."""
    owner = evaluation.submission.submitted_by
    to = owner.email if owner.is_active else ""
    if to and settings.MAIL_OWNERS and _wants(evaluation) != Mails.NONE:
        enqueue(kind=Kind.MAIL, payload=mail(to=to))


def _wants(evaluation: Evaluation) -> str:
    return evaluation.submission.submitted_by.mails


def _call_webhooks(evaluation: Evaluation, *, event: Mapping[str, object]) -> None:
    owner = evaluation.submission.submitted_by
    for webhook in Webhook.objects.filter(owner=owner, owner__is_active=True, active=True).order_by("pk"):
        enqueue(kind=Kind.WEBHOOK, payload={"webhook": str(webhook.pk), "event": event})


def _mail(*, evaluation: Evaluation, to: str, happened: str) -> dict[str, str]:
    what = _what(evaluation)
    lines = [f"Your evaluation of {what} {happened}.", "", evaluation.reason_text]
    return _mail_of(to=to, subject=f"{what} {happened}", lines=lines, address=_address(evaluation))


def _profile_mail(*, evaluation: Evaluation, to: str, gaps: int) -> dict[str, str]:
    what = _what(evaluation)
    lines = [f"The reliability profile of {what} is measured."]
    if gaps:
        lines += ["", f"Runs without figures: {gaps}. The page says why."]
    subject = f"reliability of {what} is measured"
    return _mail_of(to=to, subject=subject, lines=lines, address=_profile_address(evaluation))


def _what(evaluation: Evaluation) -> str:
    return f"{evaluation.submission.planner.name} on {evaluation.suite.title}"


def _mail_of(*, to: str, subject: str, lines: Sequence[str], address: str) -> dict[str, str]:
    settings_at = f"Email settings: {settings.SITE_URL}{reverse('outbox:webhooks')}"
    text = "\n".join([*lines, *(["", address, "", settings_at] if address else [])])
    # A subject is one line; names are printable, titles come from the library.
    return {"to": to, "subject": " ".join(f"PlanArena: {subject}".split()), "text": f"{text}\n"}


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
    """Set of what the user gets mails, from the next one on.

    Raises:
        FieldErrors: there is no such choice.
    """
    if mails not in Mails.values:
        raise FieldErrors({"mails": [f"Choose one of {', '.join(Mails.values)}."]})
    user.mails = mails
    user.save(update_fields=["mails"])


def tell_of_password(changed: PasswordSet) -> None:
    """Write the mail about a new password, within the transaction that sets it; a demo sends none."""
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
    # By the queue: a mail server that hangs must not keep a password from being changed.
    payload = {"to": user.email, "subject": "Your password was changed", "text": "\n".join(lines)}
    enqueue(kind=Kind.MAIL, payload=payload)
