"""Public keys of this site, and the statements that were signed with them. No private key is in the database."""

from django.db import models

from leaderboard.boards.models import Snapshot
from leaderboard.evaluations.models import Evaluation


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
    """The digests that bind its rows, in their order (`evaluator.signatures.RowDigests`)."""
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
    """Names or rows that were taken back from the boards of a suite (`evaluator.signatures.WithdrawalStatement`)."""

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
