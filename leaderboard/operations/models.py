"""What operators are shown: counters and moments."""

from django.db import models


class ToolUsage(models.Model):
    """Executed steps by tool, over all results that were ever taken in."""

    tool = models.CharField(max_length=120, primary_key=True)
    steps = models.BigIntegerField(default=0)
    cached = models.BigIntegerField(default=0)
    """Those of them whose outputs a store had already."""
    seconds = models.FloatField(default=0.0)
    """Experts' time; 0 for cached steps."""

    def __str__(self) -> str:
        return self.tool


class EndedAttempts(models.Model):
    """Ended attempts by state whose rows were deleted, so that their number never falls; a trigger adds them."""

    state = models.CharField(max_length=20, primary_key=True)
    deleted = models.BigIntegerField()

    def __str__(self) -> str:
        return self.state


class Moment(models.Model):
    """When something that is done again and again was last done, by the database's clock."""

    name = models.CharField(max_length=60, primary_key=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name
