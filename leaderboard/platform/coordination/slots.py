"""Slots: how many of something that lasts there may be at once, in all processes together.

A process renews the slots it uses with one statement; those of a process that was killed expire. Counted in PostgreSQL
also where there is a Redis: slots are taken and given back, not counted with each request.
"""

import uuid
from collections.abc import Collection, Mapping

from django.db import connection, transaction

from leaderboard.platform.coordination.locks import Lock, lock_until_commit

SECONDS = 60
"""A slot that nobody renews is free again after so long."""
RENEW_SECONDS = 20


def take(groups: Mapping[str, int]) -> uuid.UUID | None:
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
                [group, holder, SECONDS],
            )
    return holder


def give_back(holder: uuid.UUID) -> None:
    """Free the slots that were taken together."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM platform_slot WHERE holder = %s", [holder])


def renew(holders: Collection[uuid.UUID]) -> None:
    """Keep the slots of these for another minute, and delete those that have expired."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE platform_slot SET expires_at = clock_timestamp() + %s * interval '1 second' WHERE holder = ANY(%s)",
            [SECONDS, list(holders)],
        )
        cursor.execute("DELETE FROM platform_slot WHERE expires_at <= clock_timestamp()")
