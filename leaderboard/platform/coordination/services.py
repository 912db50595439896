"""Leases: exclusive work without advisory locks, whichever connection a statement goes through."""

import logging
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta

from django.db import DatabaseError, connection, models
from django.db.models.functions import Now

from leaderboard.platform.models import Lease

logger = logging.getLogger(__name__)

_RENEW_AFTER = 0.3
"""Share of the lease that has to pass before `renew` asks the database."""


class Hold:
    """A lease that this process has taken."""

    def __init__(self, *, name: str, lasting: timedelta, holder: uuid.UUID) -> None:
        self._name = name
        self._lasting = lasting
        self._holder = holder
        self._asked = time.monotonic()

    def renew(self) -> bool:
        """Keep the lease for its full length from now on, and say whether it is still held.

        To be called between pieces of work that each take less than the lease lasts. Cheap: most calls ask nobody.
        """
        if time.monotonic() - self._asked < _RENEW_AFTER * self._lasting.total_seconds():
            return True
        self._asked = time.monotonic()
        # Also when it lapsed: as long as nobody else has taken it, it is ours.
        renewed = self._row().update(expires_at=Now() + self._lasting)
        if not renewed:
            logger.warning("the lease %r lapsed, and another process has it; this one stops", self._name)
        return bool(renewed)

    def release(self) -> None:
        """Let others have it at once."""
        # Where the database is away, it lapses by itself.
        with suppress(DatabaseError):
            self._row().update(expires_at=Now())

    def _row(self) -> "models.QuerySet[Lease]":
        return Lease.objects.filter(name=self._name, holder=self._holder)


@contextmanager
def exclusive(name: str, *, lasting: timedelta) -> Iterator[Hold | None]:
    """A lease for the duration of the context, or None if another process has it. Waits for nobody.

    A process that is killed keeps the others away until the lease lapses; one that takes longer than `lasting` without
    `renew` may find another at the same work. So that work must bear to be done twice: the lease saves effort, and
    correctness must not depend on it. Not to be called within a transaction, which would hide or lock the row.

    Args:
        name: of the work, at most 40 characters.
        lasting: how long the lease lasts after it was taken or renewed, by the database's clock.
    """
    holder = uuid.uuid4()
    # One statement, so that of several processes at once exactly one gets the row.
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO platform_lease (name, holder, expires_at) VALUES (%s, %s, statement_timestamp() + %s) "
            "ON CONFLICT (name) DO UPDATE SET holder = EXCLUDED.holder, expires_at = EXCLUDED.expires_at "
            "WHERE platform_lease.expires_at <= statement_timestamp() RETURNING name",
            [name, holder, lasting],  # type: ignore[list-item]  # psycopg takes intervals; the stubs leave them out
        )
        taken = cursor.fetchone() is not None
    if not taken:
        yield None
        return
    hold = Hold(name=name, lasting=lasting, holder=holder)
    try:
        yield hold
    finally:
        hold.release()
