"""Pairs of blind runs, and votes on them."""

import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone

from leaderboard.planners.models import Planner
from leaderboard.workbench.models import Run


class Choice(models.TextChoices):
    """An answer to "which is better?"."""

    A = "a", "A is better"
    B = "b", "B is better"
    EQUAL = "equal", "Equally good"
    BOTH_BAD = "both_bad", "Both are bad"


class Contestant(models.Model):
    """A planner that people vote on: a submitted one, or one that comes with PlanArena."""

    planner = models.OneToOneField(Planner, on_delete=models.CASCADE, null=True, related_name="contestant")
    bundled_name = models.CharField(max_length=100, null=True, unique=True)
    opted_out_at = models.DateTimeField(null=True)
    """When its owner opted out of votes; null: they did not."""

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(planner=None, bundled_name__isnull=False)
                | models.Q(planner__isnull=False, bundled_name=None),
                name="a_contestant_is_one_planner",
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """The planner's name, with its owner's if it was submitted."""
        return self.bundled_name or (f"{self.planner.name} of {self.planner.owner.username}" if self.planner else "")

    @property
    def value(self) -> str:
        """The planner as `asking.NewRun.planner` names it."""
        return self.bundled_name or str(self.planner_id)


class Pair(models.Model):
    """One request, asked of two planners whose names nobody sees before its owner has voted."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="pairs", db_index=False)
    suite = models.SlugField()
    """The suite that gives the tools."""
    request = models.CharField(max_length=64)
    """Digest of the text and the files, by which the same request is recognised."""
    a = models.ForeignKey(Contestant, on_delete=models.CASCADE, related_name="+")
    b = models.ForeignKey(Contestant, on_delete=models.CASCADE, related_name="+")
    run_a = models.OneToOneField(Run, on_delete=models.SET_NULL, null=True, related_name="+")
    """Null: deleted, as old runs are."""
    run_b = models.OneToOneField(Run, on_delete=models.SET_NULL, null=True, related_name="+")
    created = models.DateTimeField(default=timezone.now)
    shown_at = models.DateTimeField(null=True)
    """When its owner first saw both results."""
    named_at = models.DateTimeField(null=True)
    """When the names were shown, from which on the vote counts and can no longer be changed."""

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~models.Q(a=models.F("b")), name="a_pair_has_two_planners"),
            models.CheckConstraint(
                condition=models.Q(named_at=None) | models.Q(shown_at__isnull=False), name="names_are_shown_last"
            ),
        ]
        indexes = [models.Index(fields=["owner", "created"], name="pairs_by_owner")]

    def __str__(self) -> str:
        return f"pair {self.id}"


class Vote(models.Model):
    """The vote of a pair's owner, with the facts by which `screening.py` decides whether it counts."""

    pair = models.ForeignKey(Pair, on_delete=models.CASCADE, related_name="votes", db_index=False)
    voter = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="votes", db_index=False)
    response = models.CharField(max_length=10, choices=Choice, blank=True)
    """Which response is better; empty: no vote on it."""
    plan = models.CharField(max_length=10, choices=Choice, blank=True)
    """The same for the plan."""
    address = models.CharField(max_length=32)
    """Keyed digest of the voter's network address."""
    seconds = models.FloatField()
    """Since both results were shown."""
    characters = models.PositiveIntegerField()
    """Of the texts that were shown."""
    account_hours = models.FloatField()
    """Age of the account."""
    was_own = models.BooleanField()
    """Whether a planner of the pair was the voter's, or of a team of theirs."""
    created = models.DateTimeField(default=timezone.now)
    changed = models.DateTimeField(default=timezone.now)
    """When it was cast last."""

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["pair", "voter"], name="one_vote_per_person_and_pair"),
            models.CheckConstraint(
                condition=models.Q(response__in=["", *Choice.values], plan__in=["", *Choice.values])
                & ~models.Q(response="", plan=""),
                name="a_vote_answers_a_question",
            ),
        ]
        indexes = [
            models.Index(fields=["voter", "created"], name="votes_by_voter"),
            models.Index(fields=["address", "created"], name="votes_by_address"),
        ]

    def __str__(self) -> str:
        return f"vote on {self.pair_id}"
