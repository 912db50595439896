"""The outbox, incidents and webhooks."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models.fields.json import KT
from django.utils import timezone


class Kind(models.TextChoices):
    """Kind of a message; `dispatching.py` describes the payloads."""

    MAIL = "mail", "Mail"
    WEBHOOK = "webhook", "Webhook"


class OutboxMessage(models.Model):
    """A message of the transactional outbox, written in the transaction of the event that it reports.

    Delivery is at least once: after a process is killed between sending and recording it, the message is sent again
    under the same id, by which receivers can deduplicate.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=20, choices=Kind)
    payload = models.JSONField()
    dedup_key = models.CharField(max_length=200, blank=True)
    """Unique among waiting messages; empty: not deduplicated."""
    created = models.DateTimeField(default=timezone.now)
    available_at = models.DateTimeField(default=timezone.now)
    """Not sent before this time. The sending process advances it, so that no other process claims the message."""
    tries = models.PositiveIntegerField(default=0)
    sent_at = models.DateTimeField(null=True)
    given_up_at = models.DateTimeField(null=True)
    last_error = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["dedup_key"],
                condition=models.Q(sent_at=None, given_up_at=None) & ~models.Q(dedup_key=""),
                name="one_waiting_message_per_key",
            ),
            models.CheckConstraint(condition=models.Q(kind__in=Kind.values), name="a_message_has_a_known_kind"),
            models.CheckConstraint(
                condition=models.Q(sent_at=None) | models.Q(given_up_at=None), name="a_message_is_not_sent_and_given_up"
            ),
        ]
        indexes = [
            models.Index(
                fields=["available_at"],
                condition=models.Q(sent_at=None, given_up_at=None),
                name="messages_that_wait",
            ),
            models.Index(fields=["sent_at"], name="messages_that_were_sent"),
            models.Index(
                KT("payload__webhook"),
                models.F("created").desc(),
                condition=models.Q(kind="webhook"),
                name="messages_by_webhook",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"

    @property
    def standing(self) -> str:
        """`sent`, `given up`, or `waiting`."""
        if self.sent_at:
            return "sent"
        return "given up" if self.given_up_at else "waiting"


class Fault(models.TextChoices):
    """Kind of an incident."""

    NOT_READY = "not_ready", "cannot be evaluated"
    NO_SCORES = "no_scores", "gets no scores"


class Incident(models.Model):
    """A fault of this installation that keeps a suite from being evaluated: one row per fault and suite."""

    fault = models.CharField(max_length=20, choices=Fault)
    suite = models.SlugField()
    why = models.TextField()
    """For operators only: may name files and settings."""
    since = models.DateTimeField()
    seen = models.DateTimeField()
    """Last occurrence. All times are the database's."""
    checked = models.DateTimeField()
    """Last check whether it is over."""
    mailed = models.DateTimeField(null=True)
    over = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["fault", "suite"], name="one_incident_per_fault_and_suite"),
            models.CheckConstraint(condition=models.Q(fault__in=Fault.values), name="an_incident_has_a_known_fault"),
        ]

    def __str__(self) -> str:
        return f"{self.suite} {self.get_fault_display()}"


class Webhook(models.Model):
    """An address that receives events of its owner's evaluations."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="webhooks")
    url = models.CharField(max_length=500)
    secret = models.TextField()
    """Shared with the receiver, signs events. Encrypted (`webhooks.encrypt_secret`)."""
    active = models.BooleanField(default=True)
    """False after too many failures, until its owner sends a test event."""
    failures = models.PositiveIntegerField(default=0)
    """Failed deliveries in a row."""
    failing_since = models.DateTimeField(null=True)
    rests_until = models.DateTimeField(null=True)
    """Not called before this time."""
    created = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return str(self.id)
