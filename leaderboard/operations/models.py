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
    """Number of attempts by state that are not counted by their rows any more: old ones (`monitoring/attempts.py`), and
    by a trigger deleted ones."""

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


class Part(models.TextChoices):
    """Parts of the site whose status is recorded."""

    PAGES = "pages", "Pages and API"
    DATABASE = "database", "Database"
    STORE = "store", "Storage"
    QUEUE = "queue", "Queue"
    WORKERS = "workers", "Workers"
    SUITES = "suites", "Suites"
    MESSAGES = "messages", "Emails and webhooks"


class StatusHour(models.Model):
    """Checks of one part of the site in one hour; kept for 90 days (`monitoring/history.py`)."""

    part = models.CharField(max_length=20, choices=Part)
    hour = models.DateTimeField()
    """Beginning of the hour, in UTC, by the database's clock."""
    checks = models.PositiveIntegerField()
    degraded = models.PositiveIntegerField(default=0)
    """Checks that found the part impaired."""
    down = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["part", "hour"], name="one_status_per_part_and_hour"),
            models.CheckConstraint(condition=models.Q(part__in=Part.values), name="a_status_has_a_known_part"),
            models.CheckConstraint(
                condition=models.Q(checks__gte=models.F("degraded") + models.F("down")),
                name="a_status_has_no_more_findings_than_checks",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.part} {self.hour:%Y-%m-%d %H:00}"


class Outage(models.Model):
    """Time in which checks found one problem; kept for 90 days."""

    part = models.CharField(max_length=20, choices=Part)
    code = models.CharField(max_length=30)
    """`platform.health.Code`."""
    is_down = models.BooleanField()
    """Whether the part was down; otherwise it was impaired."""
    affected = models.CharField(max_length=500, blank=True)
    """Affected volumes, tasks or suites, separated by commas."""
    began = models.DateTimeField()
    seen = models.DateTimeField()
    """The last check that found it."""
    ended = models.DateTimeField(null=True)
    is_end_known = models.BooleanField(default=True)
    """False if checks stopped before it ended: it lasted at least until then."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["code"], condition=models.Q(ended=None), name="one_open_outage_per_problem"
            ),
            models.CheckConstraint(condition=models.Q(part__in=Part.values), name="an_outage_has_a_known_part"),
        ]

    def __str__(self) -> str:
        return f"{self.code} {self.began:%Y-%m-%d %H:%M}"
