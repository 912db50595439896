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


class CacheEntry(models.Model):
    """A short-lived value that all processes of the site share, where there is no Redis. The table is not logged: a
    crash of the database empties it."""

    key = models.CharField(max_length=200, primary_key=True)
    value = models.TextField(help_text="JSON.")
    expires_at = models.DateTimeField(db_index=True, help_text="By the database's clock.")

    def __str__(self) -> str:
        return self.key


class Slot(models.Model):
    """One of a limited number of places for something that lasts, such as an open stream."""

    group = models.CharField(max_length=200, help_text="What is limited, and for whom.")
    holder = models.UUIDField(db_index=True, help_text="What occupies it, and a slot of other groups with it.")
    expires_at = models.DateTimeField(help_text="By the database's clock. Past: its process has ended.")

    class Meta:
        indexes = [models.Index(fields=["group", "expires_at"])]

    def __str__(self) -> str:
        return self.group
