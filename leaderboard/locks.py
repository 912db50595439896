"""What only one process of an installation does at a time."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from django.db import DatabaseError, connection

from leaderboard.accounts.models import User


@contextmanager
def alone(number: int) -> Iterator[bool]:
    """Whether nobody else holds the lock with this number; until the end nobody else does.

    It waits for nobody. The lock goes with the connection of a process.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [number])
        locked = bool(cursor.fetchone()[0])
    try:
        yield locked
    finally:
        if locked:
            # Where the connection is gone, the lock is, too.
            with suppress(DatabaseError), connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [number])


def lock_owner(owner: User) -> None:
    """Until the end of the transaction nobody else adds to what the user has, so that it can be counted."""
    User.objects.select_for_update(no_key=True).get(pk=owner.pk)
