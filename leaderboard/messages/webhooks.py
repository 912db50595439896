"""Users' webhooks: their settings and last deliveries, the secrets that sign events, and receivers that fail.

A receiver that fails is not tried for a while, and is disabled after `SWITCHED_OFF_AFTER`. A delivery takes up to ten
seconds: without these pauses one user's hanging receivers would delay everybody's messages and block the queue.

Secrets are encrypted, so that a dump of the database cannot sign events.
"""

import hashlib
import hmac
import logging
import secrets
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet, Window
from django.db.models.fields.json import KT
from django.db.models.functions import Coalesce, Now, RowNumber

from leaderboard.catalog.library import problem_of_address
from leaderboard.messages.models import Kind, OutboxMessage, Webhook
from leaderboard.messages.outbox import enqueue
from leaderboard.people.models import Mails, User, lock_owner
from leaderboard.platform.audit import record
from leaderboard.platform.encryption import WEBHOOK as PURPOSE
from leaderboard.platform.encryption import decrypt, encrypt, encrypt_again
from leaderboard.platform.models import Action
from leaderboard.platform.problems import FieldErrors

logger = logging.getLogger(__name__)

MOST_WEBHOOKS = 10
SHOWN_DELIVERIES = 5
_LONGEST_URL = 500
FIRST_WAIT = timedelta(seconds=5)
LONGEST_WAIT = timedelta(minutes=30)
SWITCHED_OFF_AFTER = timedelta(days=5)
"""A receiver that has accepted nothing for so long is disabled."""


def wait_after(*, tries: int) -> timedelta:
    """How long to wait after so many tries, the first being 1."""
    doublings = min(max(tries, 1) - 1, 16)
    return min(FIRST_WAIT * (1 << doublings), LONGEST_WAIT)


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


def sealed(secret: str) -> str:
    """A secret as it is kept."""
    return encrypt(secret, purpose=PURPOSE)


def opened(kept: str) -> str:
    """The secret that is kept so.

    Raises:
        UnreadableSecretError: it was kept with another key of the site.
    """
    return decrypt(kept, purpose=PURPOSE)


def signature(*, secret: str, timestamp: int, body: bytes) -> str:
    """What a receiver compares: HMAC-SHA256 over timestamp, a dot and the body, so that neither can be exchanged."""
    signed = f"{timestamp}.".encode() + body
    return "sha256=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def sealed_again(kept: str) -> str:
    """The same under the site's first key.

    Raises:
        UnreadableSecretError: no key opens it.
    """
    return encrypt_again(kept, purpose=PURPOSE)


@dataclass(frozen=True, slots=True)
class Told:
    """A webhook with its last messages, the newest first. Those that were sent are kept for a day."""

    webhook: Webhook
    deliveries: Sequence[OutboxMessage]


def webhooks_of(owner: User) -> QuerySet[Webhook]:
    """The user's webhooks, newest first."""
    return Webhook.objects.filter(owner=owner).order_by("-created", "pk")


def with_deliveries(owner: User) -> list[Told]:
    """The user's webhooks, each with its last messages: what was sent lately, waits, or was given up. Two queries."""
    webhooks = list(webhooks_of(owner))
    place = Window(RowNumber(), partition_by=F("webhook"), order_by=(F("created").desc(), F("pk").asc()))
    messages = (
        OutboxMessage.objects.filter(kind=Kind.WEBHOOK)
        .annotate(webhook=KT("payload__webhook"))
        .filter(webhook__in=[str(webhook.pk) for webhook in webhooks])
        .annotate(place=place)
        .filter(place__lte=SHOWN_DELIVERIES)
        .order_by("-created", "pk")
    )
    deliveries: dict[str, list[OutboxMessage]] = defaultdict(list)
    for message in messages if webhooks else ():
        deliveries[message.webhook].append(message)
    return [Told(webhook, deliveries[str(webhook.pk)]) for webhook in webhooks]


def add_webhook(*, owner: User, url: str) -> Webhook:
    """Have an address told of the owner's evaluations. Its `secret` is in clear here, to be shown this once.

    Raises:
        FieldErrors: the address may not be called, is there already, or there are too many.
    """
    url = url.strip()
    # Before the transaction: a name may take its time to resolve.
    if problem := _problem(url, owner=owner):
        raise FieldErrors({"url": [problem]})
    with transaction.atomic():
        lock_owner(owner)
        if problem := _one_too_many(owner=owner, url=url):
            raise FieldErrors({"url": [problem]})
        secret = secrets.token_urlsafe(32)
        webhook = Webhook.objects.create(owner=owner, url=url, secret=sealed(secret))
        record(by=owner, action=Action.WEBHOOK_ADDED, target=webhook, label=_host_of(url))
    webhook.secret = secret
    return webhook


def _one_too_many(*, owner: User, url: str) -> str:
    there = webhooks_of(owner)
    if there.filter(url=url).exists():
        return "You already have a webhook with this address."
    if there.count() >= MOST_WEBHOOKS:
        return f"You have {MOST_WEBHOOKS} webhooks, the maximum: remove one first."
    return ""


def _host_of(url: str) -> str:
    """What the audit log, which is never cleaned, may know: addresses of chats hold the secret to write there."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}"


def _problem(url: str, *, owner: User) -> str:
    if not url or len(url) > _LONGEST_URL or not url.isprintable() or " " in url:
        return f"Give an address of at most {_LONGEST_URL} characters, such as https://example.org/planarena."
    return problem_of_address(url=url, owner=owner)


def remove_webhook(*, owner: User, webhook_id: UUID) -> bool:
    """Tell an address no more; what waits for it is given up. False if the user has no such webhook."""
    with transaction.atomic():
        webhook = Webhook.objects.select_for_update().filter(owner=owner, pk=webhook_id).first()
        if webhook is None:
            return False
        record(by=owner, action=Action.WEBHOOK_REMOVED, target=webhook, label=_host_of(webhook.url))
        webhook.delete()
    return True


def send_test(*, owner: User, webhook_id: UUID) -> bool:
    """Send an event that tells of nothing, signed like the others. False if the user has no such webhook.

    A webhook that was switched off is on again: whoever tries it out has done something about it.
    """
    webhook = webhooks_of(owner).filter(pk=webhook_id).first()
    if webhook is None:
        return False
    event = {"event": "test", "text": "This is a test: your receiver works if it answers with a status of 2xx."}
    with transaction.atomic():
        switch_on(webhook)
        # One that waits is asked for again, so that nobody floods a receiver from here.
        enqueue(kind=Kind.WEBHOOK, payload={"webhook": str(webhook.pk), "event": event}, dedup_key=f"test {webhook.pk}")
    return True
