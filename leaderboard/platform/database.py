"""The database: its clock, its pool of connections, connections past a pooler, and the error when it does not answer.

The clocks of the site's hosts may differ by minutes. Times that one host writes and another compares (leases,
deadlines, claims) are therefore written and compared with the database's time: `Now()` of `django.db.models.functions`
within a query, or `database_now` where the value is needed.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import psycopg
from django.conf import settings
from django.db import connection
from django.db.backends.postgresql.base import DatabaseWrapper
from psycopg_pool import PoolTimeout

from leaderboard.platform.health import Facts, health
from leaderboard.platform.problems import ProblemError
from leaderboard.platform.storage.disk_space import RETRY_SECONDS, chain


def database_now() -> datetime:
    """The time of the database's clock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now


def give_connection_back() -> None:
    """Return this thread's connection to the pool before a wait; the next query takes another one. Does nothing within
    a transaction, which it would end."""
    if not connection.in_atomic_block:
        connection.close()


_OF_PSYCOPG = {"dbname", "user", "password", "host", "port", "sslmode", "sslrootcert", "sslcert", "sslkey"}


def direct_settings() -> dict[str, Any]:
    """Django's settings of the database: of `DATABASE_DIRECT_URL` if set, otherwise of the default connection."""
    return {**connection.settings_dict, **settings.DIRECT_DATABASE}


def direct_parameters() -> dict[str, Any]:
    """`direct_settings` as psycopg's connection parameters."""
    return parameters_of(direct_settings())


def parameters_of(database: dict[str, Any]) -> dict[str, Any]:
    """Settings of a database as psycopg's connection parameters, without Django's own options."""
    parameters = DatabaseWrapper(dict(database), "direct").get_connection_params()
    return {name: value for name, value in parameters.items() if name in _OF_PSYCOPG}


_DOWN = (
    psycopg.errors.ConnectionTimeout, psycopg.errors.AdminShutdown, psycopg.errors.CrashShutdown,
    psycopg.errors.CannotConnectNow, psycopg.errors.ConnectionException, psycopg.errors.ConnectionFailure, PoolTimeout,
)  # fmt: skip


class DatabaseDownError(ProblemError):
    """The database does not answer; uncommitted changes are lost."""

    status = 503
    code = "database_down"

    def __init__(self) -> None:
        super().__init__(health(Facts(database_problem="no answer"))[0].sentence)

    def headers(self) -> Mapping[str, str]:
        return {"Retry-After": str(RETRY_SECONDS)}


def is_database_down(error: BaseException) -> bool:
    """Whether an exception or one of its causes is a failed or lost connection. Errors of statements are subclasses of
    `psycopg.OperationalError`."""
    return any(isinstance(cause, _DOWN) or type(cause) is psycopg.OperationalError for cause in chain(error))
