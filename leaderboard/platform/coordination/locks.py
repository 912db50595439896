"""Locks, slots and leases: what processes agree on through PostgreSQL, whichever connection a statement goes through.

Named locks last until the end of a transaction, so that they work behind a pooler in transaction mode. Slots are how
many of something that lasts there may be at once, in all processes together: a process renews those that it uses with
one statement, and those of a process that was killed expire. They are counted in PostgreSQL also where there is a
Redis: slots are taken and given back, not counted with each request. Leases are exclusive work without advisory locks.
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
    """What one transaction does at a time: first halves of the keys of PostgreSQL's advisory locks."""

    SIGNING_KEYS = 1
    CHECKPOINT_STORE = 2
    UPLOADS = 3
    SLOTS = 4
    JOBS = 5
    PLANNER_LIMIT = 6


def lock_until_commit(lock: Lock, group: str = "") -> None:
    """Wait until no other transaction holds the lock, and hold it to the end of the present one.

    Args:
        lock: which one.
        group: a part of what it protects; parts are locked independently. Two groups may share a lock by a collision of
            their hashes, which costs time only.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [lock.value, group])


SLOT_SECONDS = 60
"""A slot that nobody renews is free again after so long."""
RENEW_SLOTS_SECONDS = 20


def take_slots(groups: Mapping[str, int]) -> uuid.UUID | None:
    """Take one slot of each group, or none at all; None if one of the groups is full.

    Args:
        groups: how many slots each has, by name (at most 200 characters).
    """
    holder = uuid.uuid4()
    with transaction.atomic(), connection.cursor() as cursor:
        # In one order, so that two that want the same groups do not wait for each other.
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
    """Free the slots that were taken together."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM platform_slot WHERE holder = %s", [holder])


def renew_slots(holders: Collection[uuid.UUID]) -> None:
    """Keep the slots of these for another minute, and delete those that have expired."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE platform_slot SET expires_at = clock_timestamp() + %s * interval '1 second' WHERE holder = ANY(%s)",
            [SLOT_SECONDS, list(holders)],
        )
        cursor.execute("DELETE FROM platform_slot WHERE expires_at <= clock_timestamp()")


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
