"""The pool of database connections, which all requests of a process share."""

from django.db import connection


def give_connection_back() -> None:
    """Return this thread's connection to the pool before a wait; the next query takes another one.

    Does nothing within a transaction, which would end.
    """
    if not connection.in_atomic_block:
        connection.close()
