"""Counters and timestamps for operators."""

from django.db import models


class ToolUsage(models.Model):
    """Executed steps by tool, over all results that were ever delivered."""

    tool = models.CharField(max_length=120, primary_key=True)
    steps = models.BigIntegerField(default=0)
    cached = models.BigIntegerField(default=0)
    """Number of steps whose outputs were already in a store."""
    seconds = models.FloatField(default=0.0)
    """Execution time of experts, without cached steps."""

    def __str__(self) -> str:
        return self.tool


class EndedAttempts(models.Model):
    """Number of deleted attempts by state, for monotonic counters; updated by a trigger."""

    state = models.CharField(max_length=20, primary_key=True)
    deleted = models.BigIntegerField()

    def __str__(self) -> str:
        return self.state


class Moment(models.Model):
    """When a recurring job last succeeded, by the database's clock."""

    name = models.CharField(max_length=60, primary_key=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name
