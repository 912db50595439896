"""Users' webhooks: their settings and last deliveries, signing secrets, and failing receivers.

After a failure a receiver is not called for a while, and it is disabled after `DISABLED_AFTER`. A delivery takes up to
ten seconds: without these pauses one user's hanging receivers would delay all messages and block the queue.

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
from django.urls import reverse

from leaderboard.catalog.library import problem_of_address
from leaderboard.messages.models import Kind, OutboxMessage, Webhook
from leaderboard.messages.outbox import enqueue, mail_payload
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
DISABLED_AFTER = timedelta(days=5)
"""A receiver is disabled after this time without a successful delivery."""


def wait_after(*, tries: int) -> timedelta:
    """Exponential backoff after the given number of tries."""
    doublings = min(max(tries, 1) - 1, 16)
    return min(FIRST_WAIT * (1 << doublings), LONGEST_WAIT)


def record_success(webhook: Webhook) -> None:
    """Record a successful delivery."""
    if webhook.failures:
        Webhook.objects.filter(pk=webhook.pk).update(failures=0, failing_since=None, rests_until=None)


def record_failure(webhook: Webhook, *, retry_after: float = 0.0) -> None:
    """Record a failed delivery: the receiver is not called for a while, longer after each failure in a row.

    Args:
        webhook: the webhook.
        retry_after: seconds to wait that the receiver requested; at most `LONGEST_WAIT` counts.
    """
    requested = timedelta(seconds=min(retry_after, LONGEST_WAIT.total_seconds()))
    wait = max(wait_after(tries=webhook.failures + 1), requested)
    Webhook.objects.filter(pk=webhook.pk).update(
        failures=F("failures") + 1, failing_since=Coalesce("failing_since", Now()), rests_until=Now() + wait
    )
    if Webhook.objects.filter(pk=webhook.pk, failing_since__lte=Now() - DISABLED_AFTER).exists():
        disable(webhook, why=f"no delivery succeeded for {DISABLED_AFTER.days} days")


def disable(webhook: Webhook, *, why: str) -> None:
    """Disable a webhook, and notify its owner by email.

    Before: nothing. After: it is disabled; its owner gets one email, however often this is called.
    """
    with transaction.atomic():
        if not Webhook.objects.filter(pk=webhook.pk, active=True).update(active=False):
            return
        logger.warning("webhook %s is disabled: %s", webhook.pk, why)
        owner = webhook.owner
        if not owner.email or not settings.MAIL_OWNERS or owner.mails == Mails.NONE:
            return
        page = f"{settings.SITE_URL}{reverse('outbox:webhooks')}" if settings.SITE_URL else ""
        paragraphs = [
            f"Your webhook {webhook.url} is disabled: {why}.",
            "Fix the receiver, then send a test event from your notification settings to enable it again.",
            f"Open the notification settings: {page}" if page else "",
        ]
        payload = mail_payload(to=owner.email, subject="Your webhook is disabled", paragraphs=paragraphs)
        enqueue(kind=Kind.MAIL, payload=payload)


def encrypt_secret(secret: str) -> str:
    """The stored form of a secret."""
    return encrypt(secret, purpose=PURPOSE)


def decrypt_secret(stored: str) -> str:
    """The secret of a stored form.

    Raises:
        UnreadableSecretError: it was encrypted with an unknown key.
    """
    return decrypt(stored, purpose=PURPOSE)


def signature(*, secret: str, timestamp: int, body: bytes) -> str:
    """HMAC-SHA256 over the timestamp, a dot and the body, for the receiver to verify both."""
    signed = f"{timestamp}.".encode() + body
    return "sha256=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def encrypt_secret_again(stored: str) -> str:
    """The stored form under the site's first key.

    Raises:
        UnreadableSecretError: it was encrypted with an unknown key.
    """
    return encrypt_again(stored, purpose=PURPOSE)


@dataclass(frozen=True, slots=True)
class WebhookWithDeliveries:
    """A webhook with its last messages, newest first. Sent messages are kept for a day."""

    webhook: Webhook
    deliveries: Sequence[OutboxMessage]


def webhooks_of(owner: User) -> QuerySet[Webhook]:
    """The user's webhooks, newest first."""
    return Webhook.objects.filter(owner=owner).order_by("-created", "pk")


def with_deliveries(owner: User) -> list[WebhookWithDeliveries]:
    """The user's webhooks, each with its last messages, in two queries."""
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
    return [WebhookWithDeliveries(webhook, deliveries[str(webhook.pk)]) for webhook in webhooks]


def add_webhook(*, owner: User, url: str) -> Webhook:
    """Add a webhook. The `secret` of the returned one is in plain text, to be shown once.

    Raises:
        FieldErrors: the address may not be called or already has a webhook, or there are too many.
    """
    url = url.strip()
    # Before the transaction, since resolving the name may take long.
    if not url or len(url) > _LONGEST_URL or not url.isprintable() or " " in url:
        problem = f"Give an address of at most {_LONGEST_URL} characters, such as https://example.org/planarena."
    else:
        problem = problem_of_address(url=url, owner=owner)
    if problem:
        raise FieldErrors({"url": [problem]})
    with transaction.atomic():
        lock_owner(owner)
        existing = webhooks_of(owner)
        if existing.filter(url=url).exists():
            raise FieldErrors({"url": ["You already have a webhook with this address."]})
        if existing.count() >= MOST_WEBHOOKS:
            raise FieldErrors({"url": [f"You have {MOST_WEBHOOKS} webhooks, the maximum: remove one first."]})
        secret = secrets.token_urlsafe(32)
        webhook = Webhook.objects.create(owner=owner, url=url, secret=encrypt_secret(secret))
        record(by=owner, action=Action.WEBHOOK_ADDED, target=webhook, label=_host_of(url))
    webhook.secret = secret
    return webhook


def _host_of(url: str) -> str:
    """Scheme and host: the audit log is kept indefinitely, and the paths of chat webhooks are secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}"


def remove_webhook(*, owner: User, webhook_id: UUID) -> bool:
    """Remove a webhook; its waiting messages will be given up. False if the user has no such webhook."""
    with transaction.atomic():
        webhook = Webhook.objects.select_for_update().filter(owner=owner, pk=webhook_id).first()
        if webhook is None:
            return False
        record(by=owner, action=Action.WEBHOOK_REMOVED, target=webhook, label=_host_of(webhook.url))
        webhook.delete()
    return True


def send_test(*, owner: User, webhook_id: UUID) -> bool:
    """Send a signed test event, and enable the webhook if it was disabled. False if the user has no such webhook."""
    webhook = webhooks_of(owner).filter(pk=webhook_id).first()
    if webhook is None:
        return False
    event = {"event": "test", "text": "This is a test: your receiver works if it answers with a status of 2xx."}
    with transaction.atomic():
        Webhook.objects.filter(pk=webhook.pk).update(active=True, failures=0, failing_since=None, rests_until=None)
        # Deduplicated, so that this cannot flood a receiver.
        enqueue(kind=Kind.WEBHOOK, payload={"webhook": str(webhook.pk), "event": event}, dedup_key=f"test {webhook.pk}")
    return True
