"""Enqueueing messages within the transaction that causes them."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection

from leaderboard.messages.models import Kind, OutboxMessage
from leaderboard.platform.celery import send_on_commit
from leaderboard.platform.emails import FOOTER

DISPATCH_TASK = "leaderboard.messages.tasks.dispatch"


def mail_payload(*, to: str, subject: str, paragraphs: Sequence[str], footer: str = "") -> dict[str, str]:
    """The payload of an email (`platform/emails.py`).

    Args:
        to: address.
        subject: made one line.
        paragraphs: empty ones are left out.
        footer: small print.
    """
    parts = [part for part in paragraphs if part]
    text = "\n\n".join([*parts, f"{FOOTER}\n{footer}"] if footer else parts)
    return {"to": to, "subject": " ".join(subject.split()), "text": f"{text}\n"}


def enqueue(*, kind: Kind, payload: Mapping[str, Any], dedup_key: str = "") -> None:
    """Enqueue a message within the current transaction. It is sent after the commit, at the latest by the next beat.

    Before: nothing. A waiting message with the same `dedup_key` is updated instead of adding a second one.
    After: a message waits, if and only if the transaction is committed.
    """
    message = OutboxMessage(kind=kind, payload=dict(payload), dedup_key=dedup_key)
    prepared = OutboxMessage._meta.get_field("payload").get_db_prep_save(message.payload, connection)
    # An upsert, because a concurrent transaction may write the same key.
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO outbox_outboxmessage"
            " (id, kind, payload, dedup_key, created, available_at, tries, last_error)"
            " VALUES (%s, %s, %s, %s, statement_timestamp(), statement_timestamp(), 0, '')"
            " ON CONFLICT (dedup_key) WHERE dedup_key <> '' AND sent_at IS NULL AND given_up_at IS NULL"
            " DO UPDATE SET available_at = EXCLUDED.available_at, payload = EXCLUDED.payload",
            [message.pk, message.kind, prepared, message.dedup_key],
        )
    send_on_commit(DISPATCH_TASK)
