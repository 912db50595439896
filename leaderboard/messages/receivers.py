"""How the receivers of webhooks do: one that does not answer rests, and one that never does is switched off.

Trying takes up to ten seconds. Without rests whoever has webhooks that hang would keep the messages of all others, and
the queue's own processes, waiting.
"""

import logging
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Coalesce, Now

from leaderboard.messages.models import Kind, Webhook
from leaderboard.messages.outbox import enqueue
from leaderboard.messages.waits import LONGEST_WAIT, wait_after
from leaderboard.people.models import Mails

logger = logging.getLogger(__name__)

SWITCHED_OFF_AFTER = timedelta(days=5)
"""A receiver that has taken nothing for so long is told no more."""


def note_taken(webhook: Webhook) -> None:
    """The receiver took a message."""
    if webhook.failures:
        Webhook.objects.filter(pk=webhook.pk).update(failures=0, failing_since=None, rests_until=None)


def note_refused(webhook: Webhook, *, asked_to_wait: float = 0.0) -> None:
    """The receiver did not take a message: it rests, the longer the more often that happens.

    Args:
        webhook: its address.
        asked_to_wait: seconds that it asked for; it rests for as long, up to `LONGEST_WAIT`.
    """
    asked = timedelta(seconds=min(asked_to_wait, LONGEST_WAIT.total_seconds()))
    wait = max(wait_after(tries=webhook.failures + 1), asked)
    Webhook.objects.filter(pk=webhook.pk).update(
        failures=F("failures") + 1, failing_since=Coalesce("failing_since", Now()), rests_until=Now() + wait
    )
    worn_out = Webhook.objects.filter(pk=webhook.pk, failing_since__lte=Now() - SWITCHED_OFF_AFTER)
    if worn_out.exists():
        switch_off(webhook, why=f"no delivery succeeded for {SWITCHED_OFF_AFTER.days} days")


def switch_off(webhook: Webhook, *, why: str) -> None:
    """Tell the receiver no more, and tell its owner so by mail.

    Before: nothing. After: it is off; its owner has one mail about that, however often this is called.
    """
    with transaction.atomic():
        if not Webhook.objects.filter(pk=webhook.pk, active=True).update(active=False):
            return
        logger.warning("webhook %s is switched off: %s", webhook.pk, why)
        owner = webhook.owner
        if owner.email and settings.MAIL_OWNERS and owner.mails != Mails.NONE:
            _tell_owner(webhook, why=why)


def switch_on(webhook: Webhook) -> None:
    """Tell the receiver again, as if it had never failed."""
    Webhook.objects.filter(pk=webhook.pk).update(active=True, failures=0, failing_since=None, rests_until=None)


def _tell_owner(webhook: Webhook, *, why: str) -> None:
    lines = [
        f"Your webhook {webhook.url} is disabled: {why}.",
        "",
        "Fix the receiver, then send a test event from your notification settings to enable it again.",
    ]
    payload = {"to": webhook.owner.email, "subject": "PlanArena: a webhook is disabled", "text": "\n".join(lines)}
    enqueue(kind=Kind.MAIL, payload=payload)
