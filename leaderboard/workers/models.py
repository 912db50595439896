"""What workers say while they work, and whose they are. Keyed by attempts and evaluations, which know nothing of it."""

import uuid

from django.conf import settings
from django.db import models

from leaderboard.evaluations.models import Attempt, Evaluation


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


class WorkerToken(models.Model):
    """What a worker leases tasks with. Only the hash of its text is kept; the text has 256 random bits."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="worker_tokens"
    )
    """Null: the operator's, good for every evaluation but those that their owners run themselves."""
    name = models.CharField(max_length=80)
    token_hash = models.CharField(max_length=64, unique=True)
    created = models.DateTimeField(auto_now_add=True)
    last_used = models.DateTimeField(null=True)
    """When a worker last asked for tasks with it, to the minute."""
    revoked_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name


class AttemptToken(models.Model):
    """Which token an attempt was leased with. An attempt without one was leased with PLANARENA_WORKER_TOKEN."""

    attempt = models.OneToOneField(Attempt, on_delete=models.CASCADE, primary_key=True, related_name="leased_with")
    token = models.ForeignKey(WorkerToken, on_delete=models.PROTECT, related_name="attempts")

    def __str__(self) -> str:
        return f"{self.attempt_id} with {self.token_id}"


class OwnWorkerRun(models.Model):
    """Marks an evaluation that its owner runs on their own worker: nobody else leases it, and it is not ranked."""

    evaluation = models.OneToOneField(
        Evaluation, on_delete=models.CASCADE, primary_key=True, related_name="own_worker_run"
    )
    created = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.evaluation_id} by its owner"
