"""Who does what only one process does at a time."""

from django.db import models


class Lease(models.Model):
    """A kind of work that one process has for itself until a time by the database's clock.

    A row and not an advisory lock: those belong to a connection, and a pooler such as PgBouncer in transaction mode
    gives each transaction another one.
    """

    name = models.CharField(max_length=40, primary_key=True)
    holder = models.UUIDField(help_text="Chosen by the process that took the lease last.")
    expires_at = models.DateTimeField(help_text="By the database's clock. Past: nobody holds it.")

    def __str__(self) -> str:
        return self.name
