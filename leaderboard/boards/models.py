"""Published boards: immutable snapshots of a suite's ranking."""

from django.db import models

from leaderboard.catalog.models import Season, Suite
from leaderboard.evaluations.models import Evaluation


class Snapshot(models.Model):
    """One published state of a board. A new evaluation makes a new one; only names of deleted users ever change
    (`erasing.py`)."""

    suite = models.ForeignKey(Suite, on_delete=models.PROTECT, related_name="snapshots")
    profile = models.CharField(max_length=40)
    profile_digest = models.CharField(max_length=64)
    split = models.CharField(max_length=20)
    samples = models.PositiveIntegerField()
    data_digest = models.CharField(max_length=64, blank=True, default="", db_default="")
    season = models.ForeignKey(Season, on_delete=models.PROTECT, null=True, related_name="snapshots")
    number = models.PositiveIntegerField()
    content = models.JSONField()
    """`{"rows": [...], "coverage": {"run", "total"}}`; the row format is documented in `ranking.py`."""
    digest = models.CharField(max_length=64)
    """SHA-256 of the canonical JSON of `content`; part of every ETag."""
    task_order = models.BinaryField(null=True)
    """The order of tasks in which similar ones are neighbours (`matrix.packed_order`); null in older snapshots."""
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["suite", "profile_digest", "split", "samples", "data_digest", "number"],
                name="snapshots_are_numbered",
            )
        ]
        ordering = ["-number"]

    def __str__(self) -> str:
        return f"{self.suite} #{self.number}"


class TaskValues(models.Model):
    """What each task counts in the column that boards rank by, in one completed evaluation (`task_values/kept.py`)."""

    evaluation = models.OneToOneField(Evaluation, primary_key=True, on_delete=models.CASCADE, related_name="+")
    column = models.CharField(max_length=64)
    """Digest of the column's definition."""
    packed = models.BinaryField()
    """One little-endian 32-bit float for each task of the suite in its order, by zlib; NaN where none counts."""

    def __str__(self) -> str:
        return f"values of {self.evaluation_id}"
