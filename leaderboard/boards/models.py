"""Published boards: immutable snapshots of a suite's ranking."""

import json
from typing import Any

from django.db import connection, models

from leaderboard.boards.differences import unpack
from leaderboard.catalog.models import Season, Suite
from leaderboard.evaluations.models import Evaluation


class Snapshot(models.Model):
    """One published state of a board. A new evaluation makes a new one; only names of deleted users ever change
    (`packing.py`)."""

    suite = models.ForeignKey(Suite, on_delete=models.PROTECT, related_name="snapshots")
    profile = models.CharField(max_length=40)
    profile_digest = models.CharField(max_length=64)
    split = models.CharField(max_length=20)
    samples = models.PositiveIntegerField()
    data_digest = models.CharField(max_length=64, blank=True, default="", db_default="")
    season = models.ForeignKey(Season, on_delete=models.PROTECT, null=True, related_name="snapshots")
    number = models.PositiveIntegerField()
    stored = models.JSONField(null=True)
    """The content, of the newest snapshot of a board; null where it is packed."""
    packed = models.BinaryField(null=True)
    """The content as its difference from the base's, or compressed without one (`differences.py`)."""
    base = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="differences")
    links = models.PositiveSmallIntegerField(default=0, db_default=0)
    """How many older snapshots in a row are differences from each other, down from this one."""
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

    @property
    def content(self) -> dict[str, Any]:
        """`{"rows": [...], "coverage": {"run", "total"}}`; the row format is documented in `ranking.py`.

        Takes one query if it is packed.
        """
        if self.stored is None:
            self.stored = read_packed(self.pk)
        found: dict[str, Any] = self.stored
        return found

    @content.setter
    def content(self, content: dict[str, Any]) -> None:
        self.stored = content


_CHAIN = """
    WITH RECURSIVE chain AS (
        SELECT stored::text, packed, base_id, 0 AS link FROM boards_snapshot WHERE id = %s
        UNION ALL
        SELECT one.stored::text, one.packed, one.base_id, chain.link + 1 FROM boards_snapshot one
        JOIN chain ON one.id = chain.base_id AND chain.packed IS NOT NULL
    ) SELECT stored, packed FROM chain ORDER BY link DESC
"""


def read_packed(pk: int) -> dict[str, Any]:
    """The content of a snapshot that is packed, in one query for it and all that it is a difference from."""
    with connection.cursor() as cursor:
        cursor.execute(_CHAIN, [pk])
        chain = cursor.fetchall()
    content: dict[str, Any] | None = None
    for whole, packed in chain:
        content = json.loads(whole) if packed is None else unpack(bytes(packed), base=content)
    if content is None:
        raise Snapshot.DoesNotExist(f"there is no snapshot {pk}")
    return content


class TaskValues(models.Model):
    """What each task counts in the column that boards rank by, in one completed evaluation (`task_values.py`)."""

    evaluation = models.OneToOneField(Evaluation, primary_key=True, on_delete=models.CASCADE, related_name="+")
    column = models.CharField(max_length=64)
    """Digest of the column's definition."""
    packed = models.BinaryField()
    """One little-endian 32-bit float for each task of the suite in its order, by zlib; NaN where none counts."""

    def __str__(self) -> str:
        return f"values of {self.evaluation_id}"


class SigningKey(models.Model):
    """A public key that signs, or once signed, what this site publishes."""

    id = models.CharField(primary_key=True, max_length=32)
    """The first 128 bits of its SHA-256, in hexadecimal."""
    public_key = models.CharField(max_length=44)
    """Base64 of its 32 bytes."""
    created = models.DateTimeField()
    retired = models.DateTimeField(null=True)
    """When the next key took over; null for the present one."""
    introduction = models.JSONField(null=True)
    """Envelope in which the key before introduces this one; null for the first key, or if the old one was lost."""
    listing = models.JSONField(null=True)
    """Envelope in which this key signs the list of all keys up to it."""

    def __str__(self) -> str:
        return self.id


class SnapshotSignature(models.Model):
    """The signed statement of a snapshot."""

    snapshot = models.OneToOneField(Snapshot, primary_key=True, on_delete=models.CASCADE, related_name="signature")
    key = models.ForeignKey(SigningKey, on_delete=models.PROTECT, related_name="+")
    envelope = models.JSONField()
    statement_digest = models.CharField(max_length=64)
    """How the next statement names this one."""
    signed = models.DateTimeField()
    rows = models.JSONField()
    """The digests that bind its rows, in their order (`evaluator.core.signatures.statements.RowDigests`)."""
    salts = models.JSONField()
    """By evaluation and field, the salts of the digests of the names in its row; without those of withdrawn names."""

    def __str__(self) -> str:
        return f"signature of {self.snapshot_id}"


class EvaluationSignature(models.Model):
    """The signed statement of an evaluation's results."""

    evaluation = models.OneToOneField(Evaluation, primary_key=True, on_delete=models.CASCADE, related_name="signature")
    key = models.ForeignKey(SigningKey, on_delete=models.PROTECT, related_name="+")
    envelope = models.JSONField()
    tasks_digest = models.CharField(max_length=64)
    salt = models.CharField(max_length=64)
    """Of the digests of its records."""
    signed = models.DateTimeField()

    def __str__(self) -> str:
        return f"signature of {self.evaluation_id}"


class Withdrawal(models.Model):
    """Names or rows that were taken back from the boards of a suite
    (`evaluator.core.signatures.statements.WithdrawalStatement`)."""

    suite = models.SlugField()
    """Slug, whatever the version."""
    number = models.PositiveIntegerField()
    what = models.CharField(max_length=20)
    reason = models.CharField(max_length=40)
    evaluations = models.JSONField()
    placeholder = models.CharField(max_length=40, null=True)
    through = models.PositiveIntegerField()
    contents = models.JSONField(default=dict)
    created = models.DateTimeField()
    key = models.ForeignKey(SigningKey, null=True, on_delete=models.PROTECT, related_name="+")
    envelope = models.JSONField(null=True)
    """Null until a process that has the key signs it."""
    statement_digest = models.CharField(max_length=64, blank=True, default="")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["suite", "number"], name="withdrawals_of_a_suite_are_numbered")]

    def __str__(self) -> str:
        return f"withdrawal {self.number} from {self.suite}"
