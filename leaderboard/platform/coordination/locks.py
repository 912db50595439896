"""Locks, slots and leases in PostgreSQL, independent of the connection, so that they work behind a pooler.

Locks last until the end of a transaction. Slots limit the number of concurrent long-lived resources over all processes:
a process renews its slots with one statement, and the slots of a killed process expire. They are in PostgreSQL even if
there is a Redis, since they are not taken for each request. Leases are exclusive work without advisory locks.
"""

import logging
import time
import uuid
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from enum import IntEnum

from django.db import DatabaseError, connection, models, transaction
from django.db.models.functions import Now

from leaderboard.platform.models import Lease


class Lock(IntEnum):
    """Kinds of locks: the first half of the key of PostgreSQL's advisory locks."""

    SIGNING_KEYS = 1
    CHECKPOINT_STORE = 2
    UPLOADS = 3
    SLOTS = 4
    JOBS = 5
    PLANNER_LIMIT = 6
    RUNS = 7


def lock_until_commit(lock: Lock, group: str = "") -> None:
    """Acquire a lock until the end of the current transaction, waiting for other transactions.

    Args:
        lock: its kind.
        group: name of the locked part; parts are independent. Hash collisions between groups cost only time.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [lock.value, group])


SLOT_SECONDS = 60
"""Lifetime of a slot that is not renewed."""
RENEW_SLOTS_SECONDS = 20


def take_slots(groups: Mapping[str, int]) -> uuid.UUID | None:
    """Take one slot of each group, or none; None if a group is full.

    Args:
        groups: number of slots by name of the group (at most 200 characters).
    """
    holder = uuid.uuid4()
    with transaction.atomic(), connection.cursor() as cursor:
        # In a fixed order, to avoid deadlocks.
        for group, most in sorted(groups.items()):
            lock_until_commit(Lock.SLOTS, group)
            cursor.execute(
                'SELECT count(*) FROM platform_slot WHERE "group" = %s AND expires_at > clock_timestamp()', [group]
            )
            if cursor.fetchone()[0] >= most:
                transaction.set_rollback(True)
                return None
            cursor.execute(
                'INSERT INTO platform_slot ("group", holder, expires_at) '
                "VALUES (%s, %s, clock_timestamp() + %s * interval '1 second')",
                [group, holder, SLOT_SECONDS],
            )
    return holder


def give_slots_back(holder: uuid.UUID) -> None:
    """Free the slots of a holder."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM platform_slot WHERE holder = %s", [holder])


def renew_slots(holders: Collection[uuid.UUID]) -> None:
    """Extend the slots of these holders for another minute, and delete expired slots."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE platform_slot SET expires_at = clock_timestamp() + %s * interval '1 second' WHERE holder = ANY(%s)",
            [SLOT_SECONDS, list(holders)],
        )
        cursor.execute("DELETE FROM platform_slot WHERE expires_at <= clock_timestamp()")


logger = logging.getLogger(__name__)

_RENEW_AFTER = 0.3
"""Fraction of the lease after which `renew` updates the database."""


class Hold:
    """A lease that this process holds."""

    def __init__(self, *, name: str, lasting: timedelta, holder: uuid.UUID) -> None:
        self._name = name
        self._lasting = lasting
        self._holder = holder
        self._renewed = time.monotonic()

    def renew(self) -> bool:
        """Extend the lease to its full length from now on. Returns whether it is still held.

        Call it between steps that each take less than the lease lasts. Cheap: most calls do not use the database.
        """
        if time.monotonic() - self._renewed < _RENEW_AFTER * self._lasting.total_seconds():
            return True
        self._renewed = time.monotonic()
        # Even if it expired, unless another process has taken it.
        renewed = self._row().update(expires_at=Now() + self._lasting)
        if not renewed:
            logger.warning("the lease %r expired, and another process holds it; this one stops", self._name)
        return bool(renewed)

    def release(self) -> None:
        # If the database is down, the lease expires.
        with suppress(DatabaseError):
            self._row().update(expires_at=Now())

    def _row(self) -> "models.QuerySet[Lease]":
        return Lease.objects.filter(name=self._name, holder=self._holder)


@contextmanager
def exclusive(name: str, *, lasting: timedelta) -> Iterator[Hold | None]:
    """A lease for the duration of the context, or None if another process holds it. Does not wait.

    After a process is killed, others are locked out until the lease expires; if it runs longer than `lasting` without
    `renew`, another may do the same work concurrently. The work must therefore be idempotent: the lease saves effort,
    and correctness must not depend on it. Must not be called within a transaction, which would hide or lock the row.

    Args:
        name: of the work, at most 40 characters.
        lasting: duration of the lease since it was taken or renewed, by the database's clock.
    """
    holder = uuid.uuid4()
    # One statement, so that exactly one of several concurrent processes gets the row.
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
