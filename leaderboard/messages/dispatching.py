"""Sending the messages of the outbox that are due.

Sending holds no row and no transaction: a message is claimed by moving its `available_at` on, sent, and noted as sent
only if nobody wrote to it meanwhile. So a mail server that hangs keeps nobody waiting, and what is asked for again
while it is being sent is sent again. Sending may take seconds, so one process at a time does it.

Payloads by kind:

    mail        {"to", "subject", "text"}            sent by Django's mail backend
    webhook     {"webhook": id, "event": {...}}      a signed POST, see `post_webhook`
"""

import json
import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from uuid import UUID

import httpx  # noqa: TID251 - sends messages of the outbox, in the queue's processes
from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.core.mail import EmailMessage
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from evaluator.network.guarded_connections import EgressRefusedError, call_deadline
from evaluator.network.ssrf_guard import egress_client  # noqa: TID251 - as above
from evaluator.network.transient import asked_to_wait
from leaderboard.messages import webhooks
from leaderboard.messages.models import Kind, OutboxMessage, Webhook
from leaderboard.messages.outbox import DISPATCH_TASK
from leaderboard.messages.webhooks import opened, signature, wait_after
from leaderboard.people.models import User
from leaderboard.platform.audit import record
from leaderboard.platform.celery import send_on_commit
from leaderboard.platform.coordination.locks import Hold, exclusive
from leaderboard.platform.models import Action

SIGNATURE_HEADER = "X-PlanArena-Signature"
TIMESTAMP_HEADER = "X-PlanArena-Timestamp"
DELIVERY_HEADER = "X-PlanArena-Delivery"
WEBHOOK_SECONDS = 10.0


class PermanentError(Exception):
    """Trying again would change nothing."""


class GoneError(PermanentError):
    """The receiver says that it is told no more."""


class NotTakenError(Exception):
    """The receiver did not take the message now; it may later."""

    def __init__(self, message: str, *, asked_to_wait: float = 0.0) -> None:
        """Args:
        message: what it answered.
        asked_to_wait: seconds that it asked for.
        """
        super().__init__(message)
        self.asked_to_wait = asked_to_wait


class RestingError(Exception):
    """The receiver is not asked before `until`, by the database's clock: nothing was tried."""

    def __init__(self, until: datetime) -> None:
        self.until = until
        super().__init__("the receiver did not take an earlier message and is left alone for a while")


def send(message: OutboxMessage) -> None:
    """Send a message.

    Raises:
        PermanentError: it can never be sent.
        Exception: whatever kept it from being sent this time.
    """
    _SENDERS[Kind(message.kind)](message)


def post_webhook(message: OutboxMessage) -> None:
    """POST the event as JSON, signed, to the webhook's address. Redirects are not followed.

    Raises:
        PermanentError: the webhook is gone or off, its address is not a public one, or it answered 410.
        RestingError: it did not take an earlier message.
        NotTakenError: any answer that is not 2xx.
        httpx.HTTPError: it cannot be reached.
    """
    mine = Webhook.objects.filter(pk=message.payload["webhook"], active=True).select_related("owner")
    webhook = mine.annotate(now=Now()).first()
    if webhook is None:
        raise PermanentError("the webhook was removed or switched off")
    if webhook.rests_until is not None and webhook.rests_until > webhook.now:
        raise RestingError(webhook.rests_until)
    try:
        _post_signed(webhook=webhook, message=message)
    except GoneError as error:
        webhooks.switch_off(webhook, why=str(error))
        raise
    except NotTakenError as error:
        webhooks.note_refused(webhook, asked_to_wait=error.asked_to_wait)
        raise
    except (PermanentError, httpx.HTTPError):
        webhooks.note_refused(webhook)
        raise
    webhooks.note_taken(webhook)


def _post_signed(*, webhook: Webhook, message: OutboxMessage) -> None:
    body = json.dumps(message.payload["event"], separators=(",", ":"), sort_keys=True).encode()
    timestamp = int(time.time())
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "PlanArena",
        DELIVERY_HEADER: str(message.pk),
        TIMESTAMP_HEADER: str(timestamp),
        SIGNATURE_HEADER: signature(secret=opened(webhook.secret), timestamp=timestamp, body=body),
    }
    status, asked = _post(url=webhook.url, body=body, headers=headers)
    if status == httpx.codes.GONE:
        raise GoneError("the receiver answered 410 (gone)")
    if not 200 <= status < 300:
        raise NotTakenError(f"the receiver answered HTTP {status}", asked_to_wait=asked)


def _post(*, url: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, float]:
    """The status of the answer, whose body is not read, and seconds that it asks to wait."""
    timeout = httpx.Timeout(WEBHOOK_SECONDS)
    try:
        with (
            call_deadline(time.monotonic() + WEBHOOK_SECONDS),
            egress_client(allow_private=settings.DEMO, timeout=timeout) as client,
            client.stream("POST", url, content=body, headers=dict(headers)) as response,
        ):
            return response.status_code, asked_to_wait(response.headers) or 0.0
    except (EgressRefusedError, httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise PermanentError(str(error)) from error


def _send_mail(message: OutboxMessage) -> None:
    payload = message.payload
    # The id stays the same however often it is sent, so that a mail program shows it once.
    headers = {"Message-ID": f"<{message.pk}@planarena>", "Auto-Submitted": "auto-generated"}
    EmailMessage(subject=payload["subject"], body=payload["text"], to=[payload["to"]], headers=headers).send()


_SENDERS: Mapping[Kind, Callable[[OutboxMessage], None]] = {
    Kind.MAIL: _send_mail,
    Kind.WEBHOOK: post_webhook,
}


logger = logging.getLogger(__name__)

CLAIM = timedelta(seconds=60)
"""How long a message that is being sent is left to its sender: longer than any sender takes."""
GIVE_UP_AFTER: Mapping[Kind, timedelta] = {
    Kind.MAIL: timedelta(days=2),
    Kind.WEBHOOK: timedelta(days=1),
}
KEEP_SENT = timedelta(days=1)
KEEP_GIVEN_UP = timedelta(days=30)
_PER_DISPATCH = 100
_BUDGET_SECONDS = 30.0
"""How long a dispatch takes another message: well below the limit of a Celery task."""
OWNER_SECONDS = 5
"""Of a dispatch, for the receivers of one user: beyond it their messages wait for the next dispatch, so that nobody's
receivers that hang take all the time."""
_NOTED_SECONDS = 0.5
"""What takes less is not counted, and costs no query."""
_ORDER = (Kind.MAIL, Kind.WEBHOOK)
"""Mails go first: their server is ours."""
SENDER = "send-messages"
"""Name of the lease of the process that sends them: receivers that hang cost one Celery process at most."""
SENDER_LEASE = CLAIM
"""How long it lasts: longer than any sender takes, since it is renewed before each message."""
_WAITING = Q(sent_at=None, given_up_at=None)
_LONGEST_ERROR = 500


def send_again(*, message_id: UUID, by: User) -> bool:
    """Let a message wait again and be sent at once, under the id that it has.

    Before: it was sent, was given up or still waits.
    After: it waits, with all the time for tries again (True); or another one with its `dedup_key` does already, or it
    is gone, and nothing changed (False).
    """
    with suppress(IntegrityError), transaction.atomic():
        message = OutboxMessage.objects.select_for_update().filter(pk=message_id).first()
        if message is None:
            return False
        OutboxMessage.objects.filter(pk=message_id).update(
            sent_at=None, given_up_at=None, created=Now(), available_at=Now(), tries=0
        )
        record(by=by, action=Action.MESSAGE_SENT_AGAIN, target=message, details={"before": message.standing})
        send_on_commit(DISPATCH_TASK)
        return True
    return False


def dispatch() -> int:
    """Send the messages that are due and return how many were sent.

    Before: nothing; many processes may call at once.
    After: each message that was due is sent, waits for its next try, or is given up with its reason in the log, as far
    as the time for it sufficed; all were left to another process if one is sending. No two processes have sent the
    same one, unless one of them was killed while it did.
    """
    until = time.monotonic() + _BUDGET_SECONDS
    with exclusive(SENDER, lasting=SENDER_LEASE) as hold:
        return 0 if hold is None else sum(_send_due(kind=kind, until=until, hold=hold) for kind in _ORDER)


def _send_due(*, kind: Kind, until: float, hold: Hold) -> int:
    sent = 0
    spent: Counter[int] = Counter()
    """Seconds, by owner of webhooks."""
    left_out: list[str] = []
    """Webhooks of owners who had their share."""
    for _ in range(_PER_DISPATCH):
        if not hold.renew():
            break
        started = time.monotonic()
        message = _claim(kind, left_out=left_out) if started < until else None
        if message is None:
            break
        sent += _send_one(message)
        if kind is Kind.WEBHOOK:
            left_out += _webhooks_over_share(message, seconds=time.monotonic() - started, spent=spent)
    return sent


def _webhooks_over_share(message: OutboxMessage, *, seconds: float, spent: Counter[int]) -> list[str]:
    """The webhooks of an owner whose receivers have just had their share of the dispatch; empty: they have not."""
    if seconds < _NOTED_SECONDS:
        return []
    owner = Webhook.objects.filter(pk=message.payload["webhook"]).values_list("owner", flat=True).first()
    if owner is None:
        return []
    spent[owner] += math.ceil(seconds)
    if spent[owner] < OWNER_SECONDS:
        return []
    return [str(pk) for pk in Webhook.objects.filter(owner=owner).values_list("pk", flat=True)]


def _claim(kind: Kind, *, left_out: Sequence[str]) -> OutboxMessage | None:
    """Take one message for as long as `CLAIM`, so that a process that dies now keeps it no longer than that.

    The message comes with `now`, the database's time.

    Args:
        left_out: webhooks whose messages are left to a later dispatch.
    """
    found = OutboxMessage.objects.raw(
        "UPDATE outbox_outboxmessage SET tries = tries + 1, available_at = statement_timestamp() + %(claim)s "
        "WHERE id = (SELECT id FROM outbox_outboxmessage WHERE sent_at IS NULL AND given_up_at IS NULL "
        "AND available_at <= statement_timestamp() AND kind = %(kind)s "
        "AND NOT coalesce(payload->>'webhook' = ANY(%(left_out)s), false) "
        "ORDER BY available_at LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING *, statement_timestamp() AS now",
        {"claim": CLAIM, "kind": kind, "left_out": list(left_out)},
    )
    return next(iter(found), None)


def _send_one(message: OutboxMessage) -> bool:
    try:
        send(message)
    except SoftTimeLimitExceeded:
        # It says nothing about this message: the process had no more time, and the claim lapses.
        raise
    except Exception as error:  # whatever a sender meets, the other messages go on
        logger.debug("outbox: %s", message, exc_info=True)
        _note_failure(message=message, error=error)
        return False
    # Asked for again meanwhile: it stays, and is sent once more.
    _claimed(message).update(sent_at=Now(), last_error="")
    return True


def _note_failure(*, message: OutboxMessage, error: Exception) -> None:
    text = f"{type(error).__name__}: {error}"[:_LONGEST_ERROR]
    too_old = message.now - message.created >= GIVE_UP_AFTER[Kind(message.kind)]  # type: ignore[attr-defined]  # selected by `_claim`
    if isinstance(error, PermanentError) or too_old:
        logger.error("outbox: given up %s after %d tries: %s", message, message.tries, text)
        _claimed(message).update(given_up_at=Now(), last_error=text)
        return
    if isinstance(error, RestingError):
        _claimed(message).update(available_at=error.until, tries=message.tries - 1)
        return
    logger.warning("outbox: %s was not sent (%s); this is tried again", message, text)
    _claimed(message).update(available_at=Now() + wait_after(tries=message.tries), last_error=text)


def _claimed(message: OutboxMessage) -> "QuerySet[OutboxMessage]":
    return OutboxMessage.objects.filter(_WAITING, pk=message.pk, tries=message.tries, available_at=message.available_at)


def prune() -> int:
    """Delete messages that were sent or given up long ago, and return how many."""
    deleted, _ = old_messages().delete()
    return deleted


def old_messages() -> "QuerySet[OutboxMessage]":
    """Messages that were sent or given up long ago."""
    old = Q(sent_at__lt=Now() - KEEP_SENT) | Q(given_up_at__lt=Now() - KEEP_GIVEN_UP)
    return OutboxMessage.objects.filter(old)
