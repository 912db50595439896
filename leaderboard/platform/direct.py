"""The database past a pooler: what needs a session, and not only transactions, connects with these settings."""

from typing import Any

from django.conf import settings
from django.db import connection
from django.db.backends.postgresql.base import DatabaseWrapper

_OF_PSYCOPG = {"dbname", "user", "password", "host", "port", "sslmode", "sslrootcert", "sslcert", "sslkey"}


def direct_settings() -> dict[str, Any]:
    """Django's settings of the database: those of `DATABASE_DIRECT_URL`, or else of the present connection."""
    return {**connection.settings_dict, **settings.DIRECT_DATABASE}


def direct_parameters() -> dict[str, Any]:
    """The same as psycopg's parameters of a connection."""
    return parameters_of(direct_settings())


def parameters_of(database: dict[str, Any]) -> dict[str, Any]:
    """Settings of a database as psycopg's parameters, without what only Django's own connections understand."""
    found = DatabaseWrapper(dict(database), "direct").get_connection_params()
    return {name: value for name, value in found.items() if name in _OF_PSYCOPG}
