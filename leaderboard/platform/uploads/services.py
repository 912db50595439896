"""Upload tickets: issued to authenticated users, limited by user, address and disk space, valid for one upload."""

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
"""Lifetime of an unused ticket."""
SLOWEST_BYTES_PER_SECOND = 32 * 1024
"""Minimum average rate of a body after `PATIENCE_SECONDS`."""
PATIENCE_SECONDS = 30.0
"""Maximum time without any data."""
RETRY_SECONDS = 60
_ABANDONED_SECONDS = 3600.0
"""Age at which an unmodified file is taken to be left by a killed process."""


class NoRoomError(ProblemError):
    """There is currently no room for another upload; the message is a sentence."""

    status = 429
    code = "no_room"

    def headers(self) -> Mapping[str, str]:
        return {"Retry-After": str(RETRY_SECONDS)}


class TicketRefusedError(Exception):
    """There is no such ticket, or it has expired; the message is a sentence."""


class TicketInUseError(TicketRefusedError):
    """Another upload with this ticket is in progress."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """A new ticket with its secret, of which only the hash is stored."""

    row: UploadTicket
    secret: str


def longest_seconds(size: int) -> float:
    """The maximum duration of an upload of `size` bytes."""
    return PATIENCE_SECONDS + size / SLOWEST_BYTES_PER_SECOND


def ask(*, owner_id: int, address: str, size: int) -> Ticket:
    """Issue a ticket for an upload.

    Raises:
        NoRoomError: the user or the address has too many tickets, or the uploads in progress are too large.
    """
    # Also here, since the process of beat may have another volume.
    remove_abandoned_files()
    secret = f"{PREFIX}{secrets.token_urlsafe(32)}"
    row = _reserve(owner_id=owner_id, address=address, size=size, room=size, lasting=START_WITHIN, secret=secret)
    return Ticket(row=row, secret=secret)


def reserve(*, owner_id: int, address: str, size: int) -> UploadTicket:
    """Reserve room for a large body without a ticket while it is read. Django writes it twice.

    Raises:
        NoRoomError: as for `ask`.
    """
    lasting = timedelta(seconds=longest_seconds(size)) + START_WITHIN
    return _reserve(owner_id=owner_id, address=address, size=size, room=2 * size, lasting=lasting, secret="")


def claim(*, ticket_id: UUID, secret: str) -> UploadTicket:
    """Start an upload with a ticket, exclusively until `give_up`.

    Raises:
        TicketRefusedError: the ticket cannot be used.
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
    """Release the ticket of an interrupted upload, so that it can be used again for a while."""
    UploadTicket.objects.filter(pk=ticket_id).update(claimed_at=None, expires_at=Now() + START_WITHIN)


def end(ticket_id: UUID) -> None:
    """Delete the ticket of a completed upload, whose file has been moved or deleted."""
    UploadTicket.objects.filter(pk=ticket_id).delete()


def sweep() -> int:
    """Delete expired tickets, and files that killed processes left on the volume. Returns the number of files.

    Before: nothing; concurrent runs are safe.
    After: neither exists.
    """
    UploadTicket.objects.filter(expires_at__lte=Now()).delete()
    return remove_abandoned_files()


def remove_abandoned_files() -> int:
    """Delete files that killed processes left on the volume. Returns their number."""
    removed = 0
    for path in settings.UPLOADS_DIR.iterdir() if settings.UPLOADS_DIR.is_dir() else ():
        with suppress(FileNotFoundError):
            if path.is_file() and path.stat().st_mtime < time.time() - _ABANDONED_SECONDS:
                path.unlink()
                removed += 1
    return removed


def path_of(ticket_id: UUID) -> Path:
    """The file that an upload is written to."""
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
