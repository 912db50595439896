"""Users' webhooks: adding and removing them, trying them out, and what became of the last messages."""

import secrets
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit
from uuid import UUID

from django.db import transaction
from django.db.models import F, QuerySet, Window
from django.db.models.fields.json import KT
from django.db.models.functions import RowNumber

from leaderboard.catalog.library import problem_of_address
from leaderboard.messages.models import Kind, OutboxMessage, Webhook
from leaderboard.messages.outbox import enqueue
from leaderboard.messages.receivers import switch_on
from leaderboard.messages.signing import sealed
from leaderboard.people.locks import lock_owner
from leaderboard.people.models import User
from leaderboard.platform.audit.services import record
from leaderboard.platform.models import Action
from leaderboard.platform.problems import FieldErrors

MOST_WEBHOOKS = 10
SHOWN_DELIVERIES = 5
_LONGEST_URL = 500


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
