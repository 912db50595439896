"""Jobs that wait, run, or ended lately."""

import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone


class JobState(models.TextChoices):
    """Where a job is. It only moves forward."""

    WAITING = "waiting", "Waiting"
    RUNNING = "running", "Running"
    DONE = "done", "Done"
    FAILED = "failed", "Failed"


class Job(models.Model):
    """Work for one user. Run at most once, by any web process."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="jobs")
    kind = models.CharField(max_length=20)
    """Name of a `JobKind`."""
    state = models.CharField(max_length=10, choices=JobState, default=JobState.WAITING)
    request = models.TextField()
    """JSON, encrypted: it may hold a secret header. Empty once the job has ended, unless its kind keeps it."""
    result = models.JSONField(null=True)
    """Of a job that is done."""
    problem = models.JSONField(null=True)
    """Why it failed: `status`, `code`, `detail` and perhaps `errors`, as in a problem document."""
    created = models.DateTimeField(default=timezone.now)
    started = models.DateTimeField(null=True)
    finished = models.DateTimeField(null=True)
    deadline = models.DateTimeField()
    """When it fails unless it was started, or has ended, before; by the database's clock, like all times here."""

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(state__in=JobState.values), name="a_job_has_a_known_state"),
            models.CheckConstraint(
                condition=models.Q(state=JobState.DONE, result__isnull=False, finished__isnull=False)
                | (models.Q(result=None) & ~models.Q(state=JobState.DONE)),
                name="a_job_that_is_done_has_a_result",
            ),
            models.CheckConstraint(
                condition=models.Q(state=JobState.FAILED, problem__isnull=False, finished__isnull=False)
                | (models.Q(problem=None) & ~models.Q(state=JobState.FAILED)),
                name="a_job_that_failed_has_a_problem",
            ),
        ]
        indexes = [
            models.Index(
                fields=["kind", "owner"],
                condition=models.Q(state__in=["waiting", "running"]),
                name="jobs_that_have_not_ended",
            ),
            models.Index(fields=["owner", "kind", "created"], name="jobs_by_owner"),
            models.Index(fields=["finished"], name="jobs_that_ended"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"

    @property
    def has_ended(self) -> bool:
        return self.state in {JobState.DONE, JobState.FAILED}
