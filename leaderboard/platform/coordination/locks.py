"""Named locks that last until the end of a transaction, so that they work behind a pooler in transaction mode."""

from enum import IntEnum

from django.db import connection


class Lock(IntEnum):
    """What one transaction does at a time: first halves of the keys of PostgreSQL's advisory locks."""

    SIGNING_KEYS = 1
    CHECKPOINT_STORE = 2
    UPLOADS = 3
    SLOTS = 4
    JOBS = 5
    SEASON_QUOTA = 6


def lock_until_commit(lock: Lock, group: str = "") -> None:
    """Wait until no other transaction holds the lock, and hold it to the end of the present one.

    Args:
        lock: which one.
        group: a part of what it protects; parts are locked independently. Two groups may share a lock by a collision of
            their hashes, which costs time only.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [lock.value, group])
