"""What workers say while they work. Keyed by the attempt: the queue knows nothing of it."""

from django.db import models

from leaderboard.evaluations.models import Attempt


class AttemptLog(models.Model):
    """The log of one attempt, and how much of it has come."""

    attempt = models.OneToOneField(Attempt, on_delete=models.CASCADE, primary_key=True, related_name="log")
    next_line = models.PositiveIntegerField(default=0)
    """Number of the line that is expected next; all before it have come."""
    size = models.PositiveIntegerField(default=0)
    """Characters kept."""
    cut = models.BooleanField(default=False)
    """Whether lines were dropped because there were too many."""

    def __str__(self) -> str:
        return f"log of {self.attempt_id}"


class LogChunk(models.Model):
    """Lines that came in one call. Written once."""

    log = models.ForeignKey(AttemptLog, on_delete=models.CASCADE, related_name="chunks")
    first = models.PositiveIntegerField()
    """Number of its first line."""
    lines = models.JSONField()
    """`[[seconds since 1970, level, text], ...]`"""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["log", "first"], name="lines_come_once")]
        ordering = ["first"]

    def __str__(self) -> str:
        return f"{self.log_id} from {self.first}"
