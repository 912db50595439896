"""How each kind of message is sent. A sender returns when the message was taken, and raises otherwise.

mail        {"to", "subject", "text"}                Django's mail backend
webhook     {"webhook": id, "event": {...}}          a signed POST, see `post_webhook`
"""

import json
import time
from collections.abc import Callable, Mapping
from datetime import datetime

import httpx  # noqa: TID251 - sends messages of the outbox, in the queue's processes
from django.conf import settings
from django.core.mail import EmailMessage
from django.db.models.functions import Now

from evaluator.network.guarded_connections import EgressRefusedError, call_deadline
from evaluator.network.ssrf_guard import egress_client  # noqa: TID251 - as above
from evaluator.network.transient import asked_to_wait
from leaderboard.messages import receivers
from leaderboard.messages.models import Kind, OutboxMessage, Webhook
from leaderboard.messages.signing import opened, signature

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
        receivers.switch_off(webhook, why=str(error))
        raise
    except NotTakenError as error:
        receivers.note_refused(webhook, asked_to_wait=error.asked_to_wait)
        raise
    except (PermanentError, httpx.HTTPError):
        receivers.note_refused(webhook)
        raise
    receivers.note_taken(webhook)


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
