"""Sends due messages of the outbox.

Sending locks no row and runs outside transactions: a message is claimed by advancing its `available_at`, sent, and
marked as sent unless it was changed meanwhile. So a hanging mail server blocks nothing, and a message that is enqueued
again while it is being sent is sent again. Sending may take seconds, so only one process sends at a time.

Payloads by kind:

    mail        {"to", "subject", "text"}            sent by Django's mail backend, as text and HTML
    webhook     {"webhook": id, "event": {...}}      a signed POST, see `post_webhook`
"""

import json
import logging
import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from uuid import UUID

import httpx  # noqa: TID251 - sends messages of the outbox, in the queue's processes
from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from evaluator.network.bounded_answers import beginning_of
from evaluator.network.guarded_connections import EgressRefusedError, call_deadline
from evaluator.network.ssrf_guard import egress_client  # noqa: TID251 - as above
from evaluator.network.transient import asked_to_wait, server_error
from leaderboard.messages import webhooks
from leaderboard.messages.models import Kind, OutboxMessage, Webhook
from leaderboard.messages.outbox import DISPATCH_TASK
from leaderboard.messages.webhooks import decrypt_secret, signature, wait_after
from leaderboard.people.models import User
from leaderboard.platform.audit import record
from leaderboard.platform.celery import send_on_commit
from leaderboard.platform.coordination.locks import Hold, exclusive
from leaderboard.platform.emails import multipart
from leaderboard.platform.models import Action

SIGNATURE_HEADER = "X-PlanArena-Signature"
TIMESTAMP_HEADER = "X-PlanArena-Timestamp"
DELIVERY_HEADER = "X-PlanArena-Delivery"
WEBHOOK_SECONDS = 10.0


class PermanentError(Exception):
    """Retrying would not help."""


class GoneError(PermanentError):
    """The receiver answered 410."""


class NotAcceptedError(Exception):
    """The receiver did not accept the message; a retry may succeed."""

    def __init__(self, message: str, *, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """Seconds to wait that the receiver requested."""


class RestingError(Exception):
    """The receiver is not called before `until`, by the database's clock: nothing was sent."""

    def __init__(self, until: datetime) -> None:
        self.until = until
        super().__init__("the receiver did not accept an earlier message and is not called for a while")


def send(message: OutboxMessage) -> None:
    """Send a message.

    Raises:
        PermanentError: it can never be sent.
        Exception: any other error; a retry may succeed.
    """
    if message.kind == Kind.WEBHOOK:
        post_webhook(message)
        return
    payload = message.payload
    # The id is the same in every attempt, so that mail programs show repeated emails once.
    headers = {"Message-ID": f"<{message.pk}@planarena>", "Auto-Submitted": "auto-generated"}
    multipart(subject=payload["subject"], text=payload["text"], to=[payload["to"]], headers=headers).send()


def post_webhook(message: OutboxMessage) -> None:
    """POST the event as JSON, signed, to the webhook's address. Redirects are not followed.

    Raises:
        PermanentError: the webhook is removed or disabled, its address is not public, or it answered 410.
        RestingError: it did not accept an earlier message.
        NotAcceptedError: any response that is not 2xx.
        httpx.HTTPError: it cannot be reached.
    """
    active = Webhook.objects.filter(pk=message.payload["webhook"], active=True).select_related("owner")
    webhook = active.annotate(now=Now()).first()
    if webhook is None:
        raise PermanentError("the webhook was removed or disabled")
    if webhook.rests_until is not None and webhook.rests_until > webhook.now:
        raise RestingError(webhook.rests_until)
    try:
        _post_signed(webhook=webhook, message=message)
    except GoneError as error:
        webhooks.disable(webhook, why=str(error))
        raise
    except NotAcceptedError as error:
        webhooks.record_failure(webhook, retry_after=error.retry_after)
        raise
    except (PermanentError, httpx.HTTPError):
        webhooks.record_failure(webhook)
        raise
    webhooks.record_success(webhook)


def _post_signed(*, webhook: Webhook, message: OutboxMessage) -> None:
    body = json.dumps(message.payload["event"], separators=(",", ":"), sort_keys=True).encode()
    timestamp = int(time.time())
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "PlanArena",
        DELIVERY_HEADER: str(message.pk),
        TIMESTAMP_HEADER: str(timestamp),
        SIGNATURE_HEADER: signature(secret=decrypt_secret(webhook.secret), timestamp=timestamp, body=body),
    }
    try:
        until = time.monotonic() + WEBHOOK_SECONDS
        with (
            call_deadline(until),
            egress_client(allow_private=settings.DEMO, timeout=httpx.Timeout(WEBHOOK_SECONDS)) as client,
            client.stream("POST", webhook.url, content=body, headers=headers) as response,
        ):
            status, retry_after = response.status_code, asked_to_wait(response.headers) or 0.0
            # A body is read only for the receiver's words about an error.
            body = b"" if 200 <= status < 300 else beginning_of(response, until=until)
    except (EgressRefusedError, httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise PermanentError(str(error)) from error
    if status == httpx.codes.GONE:
        raise GoneError("the receiver answered 410 (gone)")
    if not 200 <= status < 300:
        raise NotAcceptedError(f"the receiver answered {server_error(status, body=body)}", retry_after=retry_after)


logger = logging.getLogger(__name__)

CLAIM = timedelta(seconds=60)
"""How long a message is claimed: longer than sending takes."""
GIVE_UP_AFTER: Mapping[Kind, timedelta] = {
    Kind.MAIL: timedelta(days=2),
    Kind.WEBHOOK: timedelta(days=1),
}
KEEP_SENT = timedelta(days=1)
KEEP_GIVEN_UP = timedelta(days=30)
_PER_DISPATCH = 100
_BUDGET_SECONDS = 30.0
"""After this time a dispatch claims no further message: well below the limit of a Celery task."""
OWNER_SECONDS = 5
"""Seconds of a dispatch for the receivers of one user, whose other messages then wait for the next dispatch, so that
hanging receivers do not take all the time."""
_NOTED_SECONDS = 0.5
"""Shorter deliveries are not counted, which saves a query."""
_ORDER = (Kind.MAIL, Kind.WEBHOOK)
"""Emails go first: their server is the site's."""
SENDER = "send-messages"
"""Name of the sending process's lease: hanging receivers block at most one Celery process."""
SENDER_LEASE = CLAIM
"""Duration of that lease, which is renewed before each message."""
_WAITING = Q(sent_at=None, given_up_at=None)
_LONGEST_ERROR = 500


def send_again(*, message_id: UUID, by: User) -> bool:
    """Queue a message again under the same id, to be sent at once.

    Before: it was sent, was given up or still waits.
    After: it waits, with the full time for retries (True); or another one with its `dedup_key` waits already, or it was
    deleted, and nothing changed (False).
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
    """Send due messages, and return the number of sent ones.

    Before: nothing; many processes may call at once.
    After: within the time limit, each due message was sent, waits for a retry, or was given up with a reason in the
    log; if another process is sending, nothing was done. No message was sent by two processes, unless one of them was
    killed while sending it.
    """
    until = time.monotonic() + _BUDGET_SECONDS
    with exclusive(SENDER, lasting=SENDER_LEASE) as hold:
        return 0 if hold is None else sum(_send_due(kind=kind, until=until, hold=hold) for kind in _ORDER)


def _send_due(*, kind: Kind, until: float, hold: Hold) -> int:
    sent = 0
    spent: Counter[int] = Counter()
    """Seconds by owner of webhooks."""
    left_out: list[str] = []
    """Webhooks of owners who have used up `OWNER_SECONDS`."""
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
    """The webhooks of the message's owner if their receivers have used up `OWNER_SECONDS`, else none."""
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
    """Claim one message for `CLAIM`, after which another process may send it. It has the attribute `now`, the
    database's time.

    Args:
        kind: of the message.
        left_out: webhooks to skip.
    """
    claimed = OutboxMessage.objects.raw(
        "UPDATE outbox_outboxmessage SET tries = tries + 1, available_at = statement_timestamp() + %(claim)s "
        "WHERE id = (SELECT id FROM outbox_outboxmessage WHERE sent_at IS NULL AND given_up_at IS NULL "
        "AND available_at <= statement_timestamp() AND kind = %(kind)s "
        "AND NOT coalesce(payload->>'webhook' = ANY(%(left_out)s), false) "
        "ORDER BY available_at LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING *, statement_timestamp() AS now",
        {"claim": CLAIM, "kind": kind, "left_out": list(left_out)},
    )
    return next(iter(claimed), None)


def _send_one(message: OutboxMessage) -> bool:
    try:
        send(message)
    except SoftTimeLimitExceeded:
        # The process ran out of time; the claim expires.
        raise
    except Exception as error:  # an error must not affect the other messages
        logger.debug("outbox: %s", message, exc_info=True)
        _note_failure(message=message, error=error)
        return False
    # Matches nothing if it was enqueued again meanwhile: then it is sent once more.
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
    logger.warning("outbox: %s was not sent and will be retried: %s", message, text)
    _claimed(message).update(available_at=Now() + wait_after(tries=message.tries), last_error=text)


def _claimed(message: OutboxMessage) -> "QuerySet[OutboxMessage]":
    return OutboxMessage.objects.filter(_WAITING, pk=message.pk, tries=message.tries, available_at=message.available_at)


def prune() -> int:
    """Delete expired messages, and return their number."""
    deleted, _ = old_messages().delete()
    return deleted


def old_messages() -> "QuerySet[OutboxMessage]":
    """Messages that were sent or given up long enough ago to be deleted."""
    old = Q(sent_at__lt=Now() - KEEP_SENT) | Q(given_up_at__lt=Now() - KEEP_GIVEN_UP)
    return OutboxMessage.objects.filter(old)
