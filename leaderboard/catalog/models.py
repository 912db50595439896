"""What can be evaluated: suites and their tasks, as registered from the `evaluator` package, and the seasons and sealed
requests of their hidden splits."""

import uuid
from functools import cached_property
from typing import Any

from django.conf import settings
from django.db import models

from evaluator.core.suites.base import Column, Panel, shown_columns
from evaluator.core.suites.facets import Facets
from evaluator.core.suites.registry import step_by_step_of, whole_plans_of


class Suite(models.Model):
    """A versioned benchmark. A new digest is a new row: what was measured on the old one stays what it was."""

    slug = models.SlugField()
    version = models.CharField(max_length=20)
    digest = models.CharField(max_length=64, unique=True)
    title = models.CharField(max_length=100)
    description = models.TextField()
    conditions = models.JSONField(default=dict)
    """What evaluations on one board must share: `evaluator.core.suites.base.Conditions`."""
    panels = models.JSONField(default=list)
    """What pages show of a result: `evaluator.core.suites.base.Panel`."""
    task_facets = models.JSONField(default=dict)
    """What tasks are filtered and grouped by: `evaluator.core.suites.facets.Facets`; empty: the usual ones."""
    scoring = models.TextField(default="", blank=True)
    """How plans are scored, as a paragraph for the board."""
    idle_tools = models.JSONField(default=list, db_default=[], blank=True)
    """Names of the offered tools that are relevant in no task; empty where that is not known."""
    metrics = models.JSONField()
    """Columns of the board, in order: `evaluator.core.suites.base.Column`."""
    current = models.BooleanField(default=True)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["slug"], condition=models.Q(current=True), name="one_current_version_of_a_suite"
            )
        ]

    def __str__(self) -> str:
        return f"{self.slug} {self.version}"

    @property
    def runs_experts(self) -> bool:
        """Whether plans are executed, so that profile and samples matter."""
        return bool(self.conditions["experts"])

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns of its board."""
        return tuple(Column.from_json(metric) for metric in self.metrics)

    @cached_property
    def shown_columns(self) -> tuple[Column, ...]:
        """The columns of its board that are no part of another one's cells."""
        return shown_columns(self.columns)

    @cached_property
    def shown_metrics(self) -> tuple[dict[str, Any], ...]:
        """`shown_columns` as they are registered."""
        shown = {column.key for column in self.shown_columns}
        return tuple(metric for metric in self.metrics if metric["key"] in shown)

    @property
    def ranking_column(self) -> Column:
        """The column that its board ranks by."""
        return next((column for column in self.columns if column.primary), self.columns[0])

    @cached_property
    def facets(self) -> Facets:
        """What its tasks are filtered and grouped by."""
        return Facets.from_json(self.task_facets)

    @property
    def in_turns(self) -> bool:
        """Whether planners are asked turn by turn."""
        return self.has(Panel.TRANSCRIPT)

    @cached_property
    def step_by_step_form(self) -> str:
        """Slug of the suite's step-by-step form, which may be itself; empty if there is none."""
        try:
            return self.slug if whole_plans_of(self.slug) else step_by_step_of(self.slug)
        except LookupError:
            # This release does not know the suite any more.
            return ""

    def has(self, panel: Panel) -> bool:
        """Whether pages show this of a result."""
        return panel in self.panels


def current_suites() -> list[Suite]:
    """The current version of every suite in the order of pages: those of whole plans first, each kind by its slug."""
    return sorted(Suite.objects.filter(current=True), key=lambda suite: (suite.in_turns, suite.slug))


class Season(models.Model):
    """A period in which planners are measured on hidden data of their own (`seasons.py`). Open from `opens` until it is
    closed."""

    name = models.SlugField(max_length=40, primary_key=True)
    announced = models.DateTimeField(auto_now_add=True)
    opens = models.DateTimeField()
    closes = models.DateTimeField(null=True)
    """When the operator means to close it; null: not said."""
    closed = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name


class MeasuringConditions(models.Model):
    """What an evaluation is measured under besides its suite; the evaluations of a board share it."""

    profile = models.CharField(max_length=40)
    """Name of the profile; `none` for suites that judge plans."""
    profile_digest = models.CharField(max_length=64)
    """Digest of the profile; for suites that judge plans, of the rules that they are judged by."""
    split = models.CharField(max_length=20)
    samples = models.PositiveIntegerField()
    data_digest = models.CharField(max_length=64, blank=True, default="", db_default="")
    """Of the data, with the commitment of the season (`evaluator.core.suites.hidden`)."""
    season = models.ForeignKey(Season, on_delete=models.PROTECT, null=True, related_name="%(class)ss")
    """The season of the hidden data; null: open data."""
    device_class = models.CharField(max_length=20, blank=True, default="", db_default="")
    """On what devices experts ran, if not only on CPUs: `cuda`, another type of torch devices, or `mixed`. Known when
    an evaluation completes; empty also where no expert runs."""

    class Meta:
        abstract = True


CONDITION_COLUMNS = ("profile", "profile_digest", "split", "samples", "data_digest", "season_id", "device_class")
"""The columns of `MeasuringConditions`."""
RELATED_CONDITIONS = "season"
"""The row beside an evaluation or a snapshot that says whether its data are public, for `select_related`."""


class SignedLock(models.Model):
    """A signature of a profile's lock file that this site has accepted (`locks.py`)."""

    rules_digest = models.CharField(max_length=64, primary_key=True)
    """`MeasuringConditions.profile_digest` of evaluations with these checkpoints."""
    profile = models.CharField(max_length=40)
    accepted = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.profile} {self.rules_digest[:12]}"


class SeasonData(models.Model):
    """What is published of a suite's hidden data in a season."""

    season = models.ForeignKey(Season, on_delete=models.CASCADE, related_name="suites", db_index=False)
    suite = models.SlugField()
    """Slug, whatever the version."""
    commitment = models.CharField(max_length=64)
    """To the seed and the sealed requests: `evaluator.core.suites.hidden.commitment`."""
    seed = models.CharField(max_length=64, blank=True)
    """Empty until the season is closed."""
    sealed = models.PositiveIntegerField(default=0, db_default=0)
    """How many of its requests are sealed ones (`SealedEntry`)."""
    sealed_digest = models.CharField(max_length=64, blank=True, default="", db_default="")
    """`evaluator.core.suites.sealed.sealed_digest`, which is published when the season is closed; empty if there are
    none."""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["season", "suite"], name="one_commitment_per_season_and_suite")]

    def __str__(self) -> str:
        return f"{self.suite} in {self.season_id}"


class SeasonAnnouncement(models.Model):
    """The signed announcement of a season; a further one adds suites."""

    season = models.ForeignKey(Season, on_delete=models.CASCADE, related_name="announcements", db_index=False)
    number = models.PositiveIntegerField()
    """From 1."""
    envelope = models.JSONField()
    """`evaluator.core.signatures.statements.SeasonStatement`, signed."""
    statement_digest = models.CharField(max_length=64)
    """How the next announcement names this one."""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["season", "number"], name="one_announcement_per_number")]

    def __str__(self) -> str:
        return f"announcement {self.number} of {self.season_id}"


class SealedState(models.TextChoices):
    """What has happened to a sealed request (`sealed/`)."""

    PROPOSED = "proposed", "proposed: no parser has read it"
    DERIVED = "derived", "derived: parsers agree with its goal, and it waits for a reviewer"
    DISPUTED = "disputed", "disputed: a parser or the reviewer reads another goal"
    SEALED = "sealed", "sealed: ready for a season"
    USED = "used", "used in an open season"
    PUBLISHED = "published", "published with its season"
    WITHDRAWN = "withdrawn", "withdrawn"


IN_SEASON = (SealedState.USED, SealedState.PUBLISHED)
"""The states of entries that belong to a season."""


class SealedEntry(models.Model):
    """A request of the sealed pool. Words and goals are encrypted."""

    class Origin(models.TextChoices):
        """Who wrote the request."""

        PERSON = "person", "a person"
        MODEL = "model", "a language model"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    suite = models.SlugField(db_index=False)
    """Slug, whatever the version."""
    state = models.CharField(max_length=12, choices=SealedState, default=SealedState.PROPOSED)
    origin = models.CharField(max_length=8, choices=Origin)
    body = models.TextField()
    """Encrypted: `sealed.bodies.Body`."""
    findings = models.TextField(blank=True)
    """Encrypted: `sealed.bodies.Findings`; empty until parsers have read it."""
    added = models.DateTimeField(auto_now_add=True)
    added_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    reviewed = models.DateTimeField(null=True)
    reviewer = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    season = models.ForeignKey(Season, on_delete=models.PROTECT, null=True, related_name="sealed_entries")

    class Meta:
        verbose_name_plural = "sealed entries"
        ordering = ["-added", "pk"]
        indexes = [models.Index(fields=["suite", "state"], name="sealed_by_suite_and_state")]
        constraints = [
            models.CheckConstraint(condition=models.Q(state__in=SealedState.values), name="a_sealed_entry_has_a_state"),
            models.CheckConstraint(
                condition=models.Q(reviewer=None) | ~models.Q(reviewer=models.F("added_by")),
                name="nobody_reviews_their_own_sealed_entry",
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=IN_SEASON, season__isnull=False)
                | (~models.Q(state__in=IN_SEASON) & models.Q(season=None)),
                name="sealed_entries_in_use_have_a_season",
            ),
            models.CheckConstraint(
                condition=~models.Q(state__in=[SealedState.SEALED, *IN_SEASON]) | models.Q(reviewer__isnull=False),
                name="a_sealed_entry_was_reviewed",
            ),
        ]

    def __str__(self) -> str:
        return f"sealed entry {str(self.pk)[:8]} of {self.suite}"


class Task(models.Model):
    """One request of a suite."""

    suite = models.ForeignKey(Suite, on_delete=models.PROTECT, related_name="tasks", db_index=False)
    key = models.CharField(max_length=60)
    """The task's id in its suite: `"0"` to `"184"` for OpenAGI."""
    position = models.PositiveIntegerField()
    text = models.TextField()
    structure = models.CharField(max_length=20)
    metric = models.CharField(max_length=20)
    attributes = models.JSONField(default=dict)
    """Suite-specific facts; the suite's facets say which of them are filters."""
    gold = models.JSONField(null=True)
    """The gold plan as `plan/1`."""

    class Meta:
        ordering = ["suite", "position"]
        constraints = [models.UniqueConstraint(fields=["suite", "key"], name="one_task_per_key")]

    def __str__(self) -> str:
        return f"{self.suite.slug}/{self.key}"
