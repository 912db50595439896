"""Numbers of attempts by state, without reading the table of all attempts."""

from datetime import UTC, datetime

from django.db import connection, transaction

from leaderboard.evaluations.models import Attempt, AttemptState
from leaderboard.operations.models import EndedAttempts, Moment

COUNTED = "attempts_counted"
"""Name of the moment before which all leases have ended and are in `EndedAttempts`."""
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)
_SLACK = "5 minutes"
"""Longer than a transaction that grants a lease may take to commit."""
_ATTEMPTS, _ENDED, _MOMENTS = (model._meta.db_table for model in (Attempt, EndedAttempts, Moment))


def attempt_counts() -> dict[str, int]:
    """Attempts by state: those that were counted before, and later ones by the index of their leases.

    One statement, and thus one snapshot: an attempt is counted exactly once.
    """
    sql = (
        f"SELECT state, count(*) FROM {_ATTEMPTS} WHERE leased_at >= "  # noqa: S608 - our own names
        f"coalesce((SELECT at FROM {_MOMENTS} WHERE name = %s), %s) GROUP BY state "
        f"UNION ALL SELECT state, deleted FROM {_ENDED}"
    )
    counts = dict.fromkeys(AttemptState.values, 0)
    with connection.cursor() as cursor:
        cursor.execute(sql, [COUNTED, _NEVER])
        for state, number in cursor.fetchall():
            counts[state] += number
    return counts


@transaction.atomic
def count_ended_attempts() -> None:
    """Add attempts that have ended since the last call to `EndedAttempts`, up to the oldest that is live.

    Before: nothing; several may run at once.
    After: `attempt_counts` gives the same numbers and reads fewer rows.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {_MOMENTS} (name, at) VALUES (%s, %s) ON CONFLICT DO NOTHING",  # noqa: S608 - our own names
            [COUNTED, _NEVER],
        )
        # Deletions wait for it: their trigger must know whether an attempt was counted.
        cursor.execute(f"SELECT at FROM {_MOMENTS} WHERE name = %s FOR UPDATE", [COUNTED])  # noqa: S608 - our own names
        (before,) = cursor.fetchone()
        cursor.execute(
            f"SELECT greatest(%s, least(min(leased_at), statement_timestamp() - %s::interval)) "  # noqa: S608 - our own names
            f"FROM {_ATTEMPTS} WHERE state = 'live'",
            [before, _SLACK],
        )
        (until,) = cursor.fetchone()
        cursor.execute(
            f"INSERT INTO {_ENDED} AS known (state, deleted) "  # noqa: S608 - our own names
            f"SELECT state, count(*) FROM {_ATTEMPTS} WHERE leased_at >= %s AND leased_at < %s "
            "GROUP BY state ORDER BY state "
            "ON CONFLICT (state) DO UPDATE SET deleted = known.deleted + EXCLUDED.deleted",
            [before, until],
        )
        cursor.execute(f"UPDATE {_MOMENTS} SET at = %s WHERE name = %s", [until, COUNTED])  # noqa: S608 - our own names
