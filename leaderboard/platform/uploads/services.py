"""Tickets: asked for with credentials, limited by user, address and room, used once."""

import hashlib
import hmac
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Sum
from django.db.models.functions import Now

from leaderboard.platform.coordination.locks import Lock, lock_until_commit
from leaderboard.platform.models import UploadTicket
from leaderboard.platform.problems import ProblemError

PREFIX = "pau_"
MOST_PER_USER = 4
MOST_PER_ADDRESS = 8
START_WITHIN = timedelta(minutes=10)
"""A ticket that nobody has used by then expires."""
SLOWEST_BYTES_PER_SECOND = 32 * 1024
"""On the average since a body began, after `PATIENCE_SECONDS`."""
PATIENCE_SECONDS = 30.0
"""For so long a body may bring nothing at all."""
RETRY_SECONDS = 60
_ABANDONED_SECONDS = 3600.0
"""A file that nobody has written to for so long is of a process that was killed."""


class NoRoomError(ProblemError):
    """There is no room for another upload at present; the message is a sentence."""

    status = 429
    code = "no_room"

    def headers(self) -> Mapping[str, str]:
        return {"Retry-After": str(RETRY_SECONDS)}


class TicketRefusedError(Exception):
    """There is no such ticket, or it has expired; the message is a sentence."""


class TicketInUseError(TicketRefusedError):
    """Another upload with it comes in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """A ticket that was just made. Its secret is told this once; only the hash is kept."""

    row: UploadTicket
    secret: str


def longest_seconds(size: int) -> float:
    """How long a body of so many bytes may take to come in."""
    return PATIENCE_SECONDS + size / SLOWEST_BYTES_PER_SECOND


def ask(*, owner_id: int, address: str, size: int) -> Ticket:
    """Make a ticket for an upload.

    Raises:
        NoRoomError: the user or the address has too many, or too many bytes are on their way.
    """
    # The beat's process may have another volume.
    remove_abandoned_files()
    secret = f"{PREFIX}{secrets.token_urlsafe(32)}"
    row = _reserve(owner_id=owner_id, address=address, size=size, room=size, lasting=START_WITHIN, secret=secret)
    return Ticket(row=row, secret=secret)


def reserve(*, owner_id: int, address: str, size: int) -> UploadTicket:
    """Room for a large body that came without a ticket, while it is read. Django writes it twice.

    Raises:
        NoRoomError: as `ask`.
    """
    lasting = timedelta(seconds=longest_seconds(size)) + START_WITHIN
    return _reserve(owner_id=owner_id, address=address, size=size, room=2 * size, lasting=lasting, secret="")


def claim(*, ticket_id: UUID, secret: str) -> UploadTicket:
    """Begin an upload with a ticket: from now on until `give_up` nobody else does.

    Raises:
        TicketRefusedError: it cannot be used.
    """
    row = find(ticket_id=ticket_id, secret=secret)
    if row is None:
        raise TicketRefusedError("There is no such ticket, or it has expired: ask for one at POST /api/v1/uploads/.")
    lasting = timedelta(seconds=longest_seconds(row.bytes)) + START_WITHIN
    free = UploadTicket.objects.filter(pk=row.pk, claimed_at=None)
    if not free.update(claimed_at=Now(), expires_at=Now() + lasting):
        raise TicketInUseError("An upload with this ticket is in progress.")
    return row


def find(*, ticket_id: UUID, secret: str) -> UploadTicket | None:
    """The ticket with this secret, if it has not expired."""
    row = UploadTicket.objects.filter(pk=ticket_id, expires_at__gt=Now()).select_related("owner").first()
    matches = row is not None and hmac.compare_digest(row.secret_hash, _hash(secret))
    return row if matches and row is not None and row.owner.is_active else None


def give_up(ticket_id: UUID) -> None:
    """An upload broke off: its ticket may be used again for a while."""
    UploadTicket.objects.filter(pk=ticket_id).update(claimed_at=None, expires_at=Now() + START_WITHIN)


def end(ticket_id: UUID) -> None:
    """An upload has come in, and its file is gone or kept elsewhere."""
    UploadTicket.objects.filter(pk=ticket_id).delete()


def sweep() -> int:
    """Delete tickets that have expired, and what processes that were killed left on the volume; returns how many files.

    Before: nothing; it may run twice at once.
    After: neither is there.
    """
    UploadTicket.objects.filter(expires_at__lte=Now()).delete()
    return remove_abandoned_files()


def remove_abandoned_files() -> int:
    """Delete what processes that were killed left on the volume, and return how many files."""
    removed = 0
    for path in settings.UPLOADS_DIR.iterdir() if settings.UPLOADS_DIR.is_dir() else ():
        with suppress(FileNotFoundError):
            if path.is_file() and path.stat().st_mtime < time.time() - _ABANDONED_SECONDS:
                path.unlink()
                removed += 1
    return removed


def path_of(ticket_id: UUID) -> Path:
    """Where the upload with a ticket is written."""
    return Path(settings.UPLOADS_DIR) / f"{ticket_id}.upload"


def _reserve(*, owner_id: int, address: str, size: int, room: int, lasting: timedelta, secret: str) -> UploadTicket:
    with transaction.atomic():
        lock_until_commit(Lock.UPLOADS)
        live = UploadTicket.objects.filter(expires_at__gt=Now())
        if live.filter(owner=owner_id).count() >= MOST_PER_USER:
            raise NoRoomError(
                f"You have {MOST_PER_USER} open uploads, the maximum: finish one, or wait until its ticket "
                f"expires ({START_WITHIN.seconds // 60} minutes)."
            )
        if live.filter(address=address).count() >= MOST_PER_ADDRESS:
            raise NoRoomError(f"Your address has {MOST_PER_ADDRESS} open uploads, the maximum: wait for one.")
        taken = live.aggregate(taken=Sum("room"))["taken"] or 0
        if taken + room > settings.UPLOADS_QUOTA:
            raise NoRoomError("Too many uploads are in progress: try again in a few minutes.")
        return UploadTicket.objects.create(
            owner_id=owner_id,
            address=address,
            bytes=size,
            room=room,
            secret_hash=_hash(secret) if secret else "",
            claimed_at=None if secret else Now(),
            expires_at=Now() + lasting,
        )


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
