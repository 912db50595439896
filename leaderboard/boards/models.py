"""Published boards: immutable snapshots of a suite's ranking."""

import json
from typing import Any

from django.db import connection, models

from leaderboard.boards.differences import unpack
from leaderboard.catalog.models import MeasuringConditions, Suite
from leaderboard.evaluations.models import Evaluation


class Snapshot(MeasuringConditions):
    """One published state of a board. Snapshots never change, except that names of deleted users are erased
    (`packing.py`)."""

    suite = models.ForeignKey(Suite, on_delete=models.PROTECT, related_name="snapshots", db_index=False)
    number = models.PositiveIntegerField()
    stored = models.JSONField(null=True)
    """The content of a board's newest snapshot; null if packed."""
    packed = models.BinaryField(null=True)
    """The content as a compressed difference from the base's, or whole without a base (`differences.py`)."""
    base = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="differences")
    links = models.PositiveSmallIntegerField(default=0, db_default=0)
    """Length of the chain of older snapshots that are stored as differences from this one."""
    digest = models.CharField(max_length=64)
    """SHA-256 of the canonical JSON of `content`; part of every ETag."""
    task_order = models.BinaryField(null=True)
    """The order of tasks that puts similar ones next to each other (`matrix.packed_order`); null in older snapshots."""
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
        """`{"rows": [...], "coverage": {"run", "total"}}`; the row format is documented in `ranking.py`. Takes one
        query if it is packed."""
        if self.stored is None:
            self.stored = read_packed(self.pk)
        content: dict[str, Any] = self.stored
        return content

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
    """The content of a packed snapshot, in one query for it and its chain of bases."""
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
    """The value of each task in the ranking column, for one completed evaluation (`task_values.py`)."""

    evaluation = models.OneToOneField(Evaluation, primary_key=True, on_delete=models.CASCADE, related_name="+")
    column = models.CharField(max_length=64)
    """Digest of the column's definition."""
    packed = models.BinaryField()
    """One little-endian 32-bit float for each task in the suite's order, zlib-compressed; NaN if it does not count."""

    def __str__(self) -> str:
        return f"values of {self.evaluation_id}"


class VersionChange(models.Model):
    """What the version of a planner on a board changed against the version before it (`version_changes.py`)."""

    evaluation = models.OneToOneField(Evaluation, primary_key=True, on_delete=models.CASCADE, related_name="+")
    """The latest run of the version."""
    before = models.ForeignKey(Evaluation, on_delete=models.CASCADE, related_name="+")
    """The latest run of the version before."""
    gold = models.UUIDField(null=True)
    """The run of gold plans by which tasks count as solved; null without one."""
    fixed = models.PositiveIntegerField()
    """Number of tasks that it solves and the version before does not."""
    broken = models.PositiveIntegerField()
    """Number of tasks that only the version before solves."""
    undecided = models.PositiveIntegerField()
    """Number of tasks with a verdict that the judge left open."""
    is_better = models.BooleanField(null=True)
    """Whether the score is significantly better, or worse; null otherwise."""

    def __str__(self) -> str:
        return f"change of {self.evaluation_id}"


class SigningKey(models.Model):
    """The public part of a current or former signing key of this site."""

    id = models.CharField(primary_key=True, max_length=32)
    """The first 128 bits of the key's SHA-256, in hexadecimal."""
    public_key = models.CharField(max_length=44)
    """The 32 bytes in Base64."""
    created = models.DateTimeField()
    retired = models.DateTimeField(null=True)
    """When the next key replaced it; null for the current key."""
    introduction = models.JSONField(null=True)
    """Envelope in which the previous key introduces this one; null for the first key, or if the old one was lost."""
    listing = models.JSONField(null=True)
    """Envelope in which this key signs the list of all keys up to itself."""

    def __str__(self) -> str:
        return self.id


class SnapshotSignature(models.Model):
    """The signed statement of a snapshot."""

    snapshot = models.OneToOneField(Snapshot, primary_key=True, on_delete=models.CASCADE, related_name="signature")
    key = models.ForeignKey(SigningKey, on_delete=models.PROTECT, related_name="+")
    envelope = models.JSONField()
    statement_digest = models.CharField(max_length=64)
    """By which the next statement refers to this one."""
    signed = models.DateTimeField()
    rows = models.JSONField()
    """Digests of the rows, in order (`evaluator.core.signatures.statements.RowDigests`)."""
    salts = models.JSONField()
    """Salts of the digests of names, by evaluation and field; those of withdrawn names are deleted."""

    def __str__(self) -> str:
        return f"signature of {self.snapshot_id}"


class EvaluationSignature(models.Model):
    """The signed statement of an evaluation's results."""

    evaluation = models.OneToOneField(Evaluation, primary_key=True, on_delete=models.CASCADE, related_name="signature")
    key = models.ForeignKey(SigningKey, on_delete=models.PROTECT, related_name="+")
    envelope = models.JSONField()
    tasks_digest = models.CharField(max_length=64)
    salt = models.CharField(max_length=64)
    """Salt of the records' digests."""
    signed = models.DateTimeField()

    def __str__(self) -> str:
        return f"signature of {self.evaluation_id}"


class Withdrawal(models.Model):
    """Names or rows withdrawn from the boards of a suite
    (`evaluator.core.signatures.statements.WithdrawalStatement`)."""

    suite = models.SlugField(db_index=False)
    """Slug; covers all versions."""
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
    """Null until a process with the key signs it."""
    statement_digest = models.CharField(max_length=64, blank=True, default="")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["suite", "number"], name="withdrawals_of_a_suite_are_numbered")]

    def __str__(self) -> str:
        return f"withdrawal {self.number} from {self.suite}"
