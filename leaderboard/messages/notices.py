"""Notifications of users through the outbox: about evaluations, by email and webhook, and about new passwords.

Events of a webhook:

    {"event": "evaluation", "evaluation", "attempt", "suite", "planner", "state", "reason", "reason_text", "url"}
    {"event": "reliability", "evaluation", "suite", "planner", "state": "measured", "gaps", "url"}
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

from django.conf import settings
from django.urls import reverse

from evaluator.scoring.metrics.statistics import ends_of
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.evaluations.states import Entered
from leaderboard.messages.models import Kind, Webhook
from leaderboard.messages.outbox import enqueue, mail_payload
from leaderboard.people.credentials import PasswordEvent, PasswordSet
from leaderboard.people.models import Mails, User
from leaderboard.people.teams import Invited
from leaderboard.platform.problems import FieldErrors

BY_MAIL = frozenset({EvaluationState.ON_HOLD, EvaluationState.FAILED})
"""States that need the owner's attention."""
BY_MAIL_TOO = frozenset({EvaluationState.COMPLETED})
"""States for which users who opted in get an email. Cancelled is absent: its owner cancelled it."""
BY_WEBHOOK = BY_MAIL | {EvaluationState.COMPLETED, EvaluationState.CANCELLED}


_HAPPENED = {
    EvaluationState.ON_HOLD: "is on hold",
    EvaluationState.FAILED: "failed",
    EvaluationState.COMPLETED: "is complete",
}
_WHAT_TO_DO = {
    EvaluationState.ON_HOLD: "Resume it to run these tasks again, or accept them as faults of your planner. Until then "
    "it has no rank.",
    EvaluationState.FAILED: "It has no score. Submit the planner again when the cause is gone.",
}


def notify_owner(event: Entered) -> None:
    """Enqueue the messages for an evaluation's new state, within the transaction of the transition.

    Verifications send none: `notify_of_verdict` reports their verdict. Further runs and members of a reliability
    profile only send messages that need the owner's action.
    """
    if event.state not in BY_WEBHOOK:
        return
    evaluation = _read(event.evaluation_id)
    if evaluation.verifies_id is not None or (evaluation.member_of_id and evaluation.state != EvaluationState.ON_HOLD):
        return
    opted_in = evaluation.submission.submitted_by.mails == Mails.ENDED
    if evaluation.state in BY_MAIL or (evaluation.state in BY_MAIL_TOO and opted_in):
        state = EvaluationState(evaluation.state)
        _mail_owner(evaluation, event=_HAPPENED[state], more=[_WHAT_TO_DO.get(state, ""), _score(evaluation)])
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
        paragraphs = [
            f"The reliability of {what} has been measured: whether it repeats its results, and how it handles other "
            "wordings of the requests."
        ]
        if gaps:
            runs = "One run has" if gaps == 1 else f"{gaps} runs have"
            paragraphs.append(f"{runs} no figures; the page says why.")
        link = ("Open the reliability profile", _profile_address(evaluation))
        _mail(evaluation, subject=f"The reliability of {what} has been measured", paragraphs=paragraphs, link=link)
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
        _mail_owner(
            evaluation,
            event="could not be verified",
            more=["It has no rank: this site got other results for the same tasks."],
        )
    _call_webhooks(evaluation, event=_event(evaluation))


def _read(evaluation_id: UUID) -> Evaluation:
    related = Evaluation.runs.select_related("suite", "submission__planner", "submission__submitted_by")
    return related.get(pk=evaluation_id)


def _mail_owner(evaluation: Evaluation, *, event: str, more: Sequence[str] = ()) -> None:
    what = _what(evaluation)
    paragraphs = [f"Your evaluation of {what} {event}.", evaluation.reason_text, *more]
    link = ("Open the evaluation", _address(evaluation))
    _mail(evaluation, subject=f"{what} {event}", paragraphs=paragraphs, link=link)


def _score(evaluation: Evaluation) -> str:
    """The score of a completed evaluation as a sentence; empty if it has none."""
    column = evaluation.suite.ranking_column
    metric = ((evaluation.summary or {}).get("metrics") or {}).get(column.key)
    if evaluation.state != EvaluationState.COMPLETED or metric is None or metric.get("mean") is None:
        return ""
    ends = ends_of(low=metric.get("low"), high=metric.get("high"))
    interval = "" if ends is None else f" (95 % interval {ends[0]:.3f} to {ends[1]:.3f})"
    return f"{column.label}: {metric['mean']:.3f}{interval}."


def _mail(evaluation: Evaluation, *, subject: str, paragraphs: Sequence[str], link: tuple[str, str]) -> None:
    """Enqueue an email to the owner, if they have an address and have not opted out.

    Args:
        evaluation: the evaluation.
        subject: names are printable, titles come from the library.
        paragraphs: empty ones are left out.
        link: label and address of a page; without an address there is none.
    """
    owner = evaluation.submission.submitted_by
    if not owner.email or not owner.is_active or not settings.MAIL_OWNERS or owner.mails == Mails.NONE:
        return
    label, address = link
    footer = "You get this email because you submitted the planner."
    if address:
        footer += f"\nChoose which emails you get: {settings.SITE_URL}{reverse('outbox:webhooks')}"
    enqueue(
        kind=Kind.MAIL,
        payload=mail_payload(
            to=owner.email,
            subject=subject,
            paragraphs=[*paragraphs, f"{label}: {address}" if address else ""],
            footer=footer,
        ),
    )


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
    done = "changed" if changed.event is PasswordEvent.CHANGED else "reset with the link of an email"
    ended = "\n".join(f"- {credential.kind} {credential.name}" for credential in changed.ended)
    reset = f"{settings.SITE_URL}/accounts/password/reset/" if settings.SITE_URL else ""
    paragraphs = [
        f"The password of your account {user.username} was {done}. Other browsers are signed out.",
        *(["These credentials have ended:", ended] if ended else []),
        f"{_count(changed.kept, 'token')} still {'works' if changed.kept == 1 else 'work'}." if changed.kept else "",
        "If this was not you, reset your password immediately.",
        f"Reset the password: {reset}" if reset else "",
    ]
    # Through the outbox: a hanging mail server must not block the change.
    payload = mail_payload(to=user.email, subject=f"Your password was {done.split()[0]}", paragraphs=paragraphs)
    enqueue(kind=Kind.MAIL, payload=payload)


def notify_of_invitation(invited: Invited) -> None:
    """Enqueue the email about an invitation to a team, within the transaction that creates it. Demos send none."""
    user, team = invited.invitation.user, invited.invitation.team
    if not user.email or not settings.MAIL_OWNERS or user.mails == Mails.NONE:
        return
    page = f"{settings.SITE_URL}{reverse('accounts:teams')}" if settings.SITE_URL else ""
    paragraphs = [
        f"You are invited to the team {team.name}.",
        "Members submit planners for the team and manage its submissions together. You join when you accept.",
        f"Answer the invitation: {page}" if page else "",
    ]
    footer = "If you do not know this team, decline the invitation or ignore this email."
    # Without the name of who invited: messages are kept for a while, also if that account is deleted.
    subject = f"You are invited to the team {team.name}"
    payload = mail_payload(to=user.email, subject=subject, paragraphs=paragraphs, footer=footer)
    enqueue(kind=Kind.MAIL, payload=payload)


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
