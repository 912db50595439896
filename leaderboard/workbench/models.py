"""Runs of the workbench, their files, and what happened in them."""

import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone

from leaderboard.planners.models import Planner


class RunState(models.TextChoices):
    """State of a run. It only moves forward, except that a lost run waits again."""

    WAITING = "waiting", "Waiting"
    RUNNING = "running", "Running"
    ENDED = "ended", "Ended"
    CANCELLED = "cancelled", "Cancelled"


UNFINISHED = (RunState.WAITING, RunState.RUNNING)


class Run(models.Model):
    """One request, asked once. Everybody who knows its address may read it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="workbench_runs"
    )
    """Null: a stranger's."""
    asker = models.CharField(max_length=80)
    """Whose share it counts towards: a user, or the digest of an address."""
    after = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, related_name="followers")
    """The run before it in a dialogue."""
    suite = models.SlugField()
    """The suite that gives the tools."""
    profile = models.SlugField()
    planner = models.ForeignKey(Planner, on_delete=models.CASCADE, null=True, related_name="workbench_runs")
    bundled_name = models.CharField(max_length=100, blank=True)
    """The planner, if it comes with PlanArena."""
    text = models.TextField()
    plan = models.JSONField(null=True)
    """A plan that runs instead of the planner's."""
    marks = models.JSONField(default=list, db_default=[], blank=True)
    """What was marked in pictures: `evaluator.core.marks.Mark`."""
    state = models.CharField(max_length=10, choices=RunState, default=RunState.WAITING)
    reason = models.TextField(blank=True)
    """Why it was cancelled or returned, as a sentence."""
    created = models.DateTimeField(default=timezone.now)
    seen_at = models.DateTimeField(default=timezone.now)
    """When a reader last followed it."""
    is_blind = models.BooleanField(default=False, db_default=False)
    """Whether nobody may learn its planner yet: no page and no call shows it, except as a side of a pair (`votes`)."""
    is_kept = models.BooleanField(default=False)
    """Whether it runs although nobody follows it."""
    tries = models.PositiveSmallIntegerField(default=0)
    worker = models.CharField(max_length=120, blank=True)
    token_hash = models.CharField(max_length=64, null=True, unique=True)
    """Of the credential of the worker that has it."""
    last_token_hash = models.CharField(max_length=64, blank=True)
    """The last one, which may still be read from while a worker learns that it has lost the run."""
    leased_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    """When a run is lost whose worker does not call; by the database's clock, like all times here."""
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(state__in=RunState.values), name="a_run_has_a_known_state"),
            models.CheckConstraint(
                condition=models.Q(state=RunState.RUNNING, token_hash__isnull=False, expires_at__isnull=False)
                | models.Q(~models.Q(state=RunState.RUNNING), token_hash=None),
                name="a_running_run_has_a_worker",
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=UNFINISHED, ended_at=None)
                | models.Q(~models.Q(state__in=UNFINISHED), ended_at__isnull=False),
                name="a_finished_run_has_an_end",
            ),
        ]
        indexes = [
            models.Index(fields=["created"], condition=models.Q(state__in=UNFINISHED), name="runs_that_have_not_ended"),
            models.Index(fields=["asker", "created"], name="runs_by_asker"),
            models.Index(fields=["created"], name="runs_by_age"),
        ]

    def __str__(self) -> str:
        return f"run {self.id}"

    @property
    def has_ended(self) -> bool:
        return self.state not in UNFINISHED

    @property
    def planner_name(self) -> str:
        """Name of the planner; empty where a plan came with the request to nobody."""
        return self.bundled_name or (self.planner.name if self.planner is not None else "")


class RunFile(models.Model):
    """A file of a request: uploaded bytes, or an artefact of an earlier run."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="files", db_index=False)
    number = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=60)
    type = models.CharField(max_length=20)
    """Resource type."""
    data = models.BinaryField(null=True)
    """Of an upload, as a stranger sent it: only the limited process of a worker reads it."""
    digest = models.CharField(max_length=64, blank=True)
    media_type = models.CharField(max_length=60, blank=True)
    """Both of an artefact."""

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "number"], name="files_of_a_run_are_numbered"),
            models.UniqueConstraint(fields=["run", "name"], name="files_of_a_run_have_names"),
            models.CheckConstraint(
                condition=models.Q(data__isnull=False, digest="", media_type="")
                | models.Q(models.Q(data=None), ~models.Q(digest=""), ~models.Q(media_type="")),
                name="a_file_is_an_upload_or_an_artefact",
            ),
        ]
        ordering = ["number"]

    def __str__(self) -> str:
        return f"{self.name} of {self.run_id}"


class RunEvent(models.Model):
    """An event of a run (`evaluator.workbench.events`). Written once."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="events", db_index=False)
    number = models.PositiveSmallIntegerField()
    at = models.DateTimeField()
    body = models.JSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "number"], name="events_of_a_run_are_numbered")]
        ordering = ["number"]

    def __str__(self) -> str:
        return f"event {self.number} of {self.run_id}"
