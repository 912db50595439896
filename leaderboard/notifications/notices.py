"""Telling the owner of an evaluation what happened to it: by mail and to their webhooks, through the outbox.

Event of a webhook:

    {"event": "evaluation", "evaluation", "attempt", "suite", "planner", "state", "reason", "reason_text", "url"}
"""

from uuid import UUID

from django.conf import settings
from django.urls import reverse

from leaderboard.accounts.models import Mails
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.evaluations.states import Entered
from leaderboard.notifications.models import Kind, Webhook
from leaderboard.notifications.outbox import enqueue

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
        _call_webhooks(evaluation)


def tell_verdict(*, evaluation_id: UUID, agrees: bool) -> None:
    """Write the messages about a verification of this evaluation, within the transaction of its verdict."""
    evaluation = _read(evaluation_id)
    if not agrees:
        _send_mail(evaluation=evaluation, happened="was not verified")
    _call_webhooks(evaluation)


def _read(evaluation_id: UUID) -> Evaluation:
    related = Evaluation.objects.select_related("suite", "submission__planner", "submission__submitted_by")
    return related.get(pk=evaluation_id)


def _send_mail(*, evaluation: Evaluation, happened: str) -> None:
    owner = evaluation.submission.submitted_by
    to = owner.email if owner.is_active else ""
    if to and settings.MAIL_OWNERS and _wants(evaluation) != Mails.NONE:
        enqueue(kind=Kind.MAIL, payload=_mail(evaluation=evaluation, to=to, happened=happened))


def _wants(evaluation: Evaluation) -> str:
    return evaluation.submission.submitted_by.mails


def _call_webhooks(evaluation: Evaluation) -> None:
    owner = evaluation.submission.submitted_by
    for webhook in Webhook.objects.filter(owner=owner, owner__is_active=True, active=True).order_by("pk"):
        enqueue(kind=Kind.WEBHOOK, payload={"webhook": str(webhook.pk), "event": _event(evaluation)})


def _mail(*, evaluation: Evaluation, to: str, happened: str) -> dict[str, str]:
    what = f"{evaluation.submission.planner.name} on {evaluation.suite.title}"
    # A subject is one line; names are printable, titles come from the library.
    subject = " ".join(f"PlanArena: {what} {happened}".split())
    lines = [f"Your evaluation of {what} {happened}.", "", evaluation.reason_text]
    if address := _address(evaluation):
        lines += ["", address, "", f"Email settings: {settings.SITE_URL}{reverse('outbox:webhooks')}"]
    return {"to": to, "subject": subject, "text": "\n".join(lines) + "\n"}


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
