"""The one clock of an installation: PostgreSQL's.

The clocks of the hosts that the site runs on may differ by minutes. What one host writes and another compares with the
present (leases, deadlines, claims) is therefore written and compared with the database's time: `Now()` of
`django.db.models.functions` within a query, or this function where the time itself is needed.
"""

from datetime import datetime

from django.db import connection


def database_now() -> datetime:
    """What time it is in the database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now
