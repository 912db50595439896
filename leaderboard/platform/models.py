"""The audit log, leases, the shared cache, slots, and tickets of uploads."""

import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone


class Action(models.TextChoices):
    """Kinds of audited actions."""

    SUBMITTED = "submitted", "Submitted a planner"
    RERUN = "rerun", "Re-ran an evaluation"
    REGRADED = "regraded", "Regraded an evaluation"
    RESUMED = "resumed", "Resumed an evaluation"
    ACCEPTED = "accepted", "Accepted infrastructure faults"
    CANCELLED = "cancelled", "Cancelled an evaluation"
    REQUEUED = "requeued", "Requeued an evaluation"
    PRIORITY_SET = "priority_set", "Set the priority of an evaluation"
    VISIBILITY_SET = "visibility_set", "Changed a submission's visibility"
    EMBARGO_ENDED = "embargo_ended", "Released an embargo on its date"
    HIDDEN = "hidden", "Hid an evaluation"
    SHOWN_AGAIN = "shown_again", "Unhid an evaluation"
    PROFILE_REQUESTED = "profile_requested", "Requested a reliability profile"
    PROFILE_CANCELLED = "profile_cancelled", "Cancelled a reliability profile"
    HEADER_SET = "header_set", "Set the secret header of a planner"
    HEADER_REMOVED = "header_removed", "Removed the secret header of a planner"
    WEIGHT_SET = "weight_set", "Set the weight of a user or a team"
    TOKEN_MADE = "token_made", "Created an API token"
    TOKEN_REVOKED = "token_revoked", "Revoked an API token"
    WORKER_TOKEN_MADE = "worker_token_made", "Created a worker token"
    WORKER_TOKEN_REVOKED = "worker_token_revoked", "Revoked a worker token"
    WEBHOOK_ADDED = "webhook_added", "Added a webhook"
    WEBHOOK_REMOVED = "webhook_removed", "Removed a webhook"
    MESSAGE_SENT_AGAIN = "message_sent_again", "Sent a message again"
    TEAM_MADE = "team_made", "Made a team"
    TEAM_INVITED = "team_invited", "Invited a user to a team"
    TEAM_INVITATION_ENDED = "team_invitation_ended", "Declined or withdrew an invitation to a team"
    TEAM_JOINED = "team_joined", "Joined a team"
    TEAM_LEFT = "team_left", "Left a team"
    TEAM_REMOVED = "team_removed", "Removed a user from a team"
    PASSWORD_CHANGED = "password_changed", "Changed the password"
    PASSWORD_RESET = "password_reset", "Reset the password by email"
    SECOND_FACTOR_REMOVED = "second_factor_removed", "Removed a user's second factor"
    TEAM_DESCRIBED = "team_described", "Changed whether a team's members are public"
    ACCOUNT_CLOSED = "account_closed", "Closed an account"
    ACCOUNT_REOPENED = "account_reopened", "Reopened a closed account"
    ACCOUNT_DELETED = "account_deleted", "Deleted an account"
    TEAM_HANDED_OVER = "team_handed_over", "Transferred a team"
    SEASON_ANNOUNCED = "season_announced", "Announced a season"
    SEASON_SIGNED = "season_signed", "Signed the announcement of a season"
    SEASON_CLOSED = "season_closed", "Closed a season"
    SEALED_ADDED = "sealed_added", "Added a sealed request"
    SEALED_DERIVED = "sealed_derived", "Had parsers read a sealed request"
    SEALED_REVIEWED = "sealed_reviewed", "Reviewed a sealed request"
    SEALED_WITHDRAWN = "sealed_withdrawn", "Withdrew a sealed request"


class AuditEntry(models.Model):
    """An audited action. Refers to users and objects by value, not by foreign key, so that deleting them is possible
    and removes no entries."""

    at = models.DateTimeField(default=timezone.now)
    actor_key = models.BigIntegerField(null=True)
    """Primary key of the user; null for a command on the operator's machine."""
    actor = models.CharField(max_length=150, blank=True)
    """Their username at that time."""
    action = models.CharField(max_length=40, choices=Action)
    target_kind = models.CharField(max_length=40)
    """Name of the model: `evaluation`, `user`, ..."""
    target = models.CharField(max_length=60)
    """Its primary key, or for API tokens their first characters."""
    label = models.CharField(max_length=200, blank=True)
    """Name of the object at that time."""
    details = models.JSONField(default=dict)
    """Further values, such as `before` and `after`. Never a secret."""

    class Meta:
        verbose_name_plural = "audit entries"
        ordering = ["-at", "-pk"]
        indexes = [
            models.Index(fields=["-at", "-id"], name="audit_newest_first"),
            models.Index(fields=["target"], name="audit_by_target"),
        ]
        constraints = [
            models.CheckConstraint(condition=models.Q(action__in=Action.values), name="an_entry_has_a_known_action"),
        ]

    def __str__(self) -> str:
        return f"{self.actor or 'operator'}: {self.action} {self.label or self.target}"


class Lease(models.Model):
    """Exclusive work of one process until a time by the database's clock.

    Not an advisory lock, which belongs to a connection: a pooler such as PgBouncer in transaction mode gives each
    transaction another one.
    """

    name = models.CharField(max_length=40, primary_key=True)
    holder = models.UUIDField(help_text="Chosen by the process that took the lease last.")
    expires_at = models.DateTimeField(help_text="By the database's clock. Past: nobody holds it.")

    def __str__(self) -> str:
        return self.name


class CacheEntry(models.Model):
    """A short-lived value that all processes of the site share, if there is no Redis. The table is unlogged: a crash of
    the database empties it."""

    key = models.CharField(max_length=200, primary_key=True)
    value = models.TextField(help_text="JSON.")
    expires_at = models.DateTimeField(db_index=True, help_text="By the database's clock.")

    def __str__(self) -> str:
        return self.key


class Slot(models.Model):
    """A unit of a limited resource that is held for a while, such as an open stream."""

    group = models.CharField(max_length=200, help_text="What is limited, and for whom.")
    holder = models.UUIDField(db_index=True, help_text="What occupies it, and a slot of other groups with it.")
    expires_at = models.DateTimeField(help_text="By the database's clock. Past: its process has ended.")

    class Meta:
        indexes = [models.Index(fields=["group", "expires_at"])]

    def __str__(self) -> str:
        return self.group


class UploadTicket(models.Model):
    """Room for one upload, until it is complete or the ticket expires. Large bodies without a ticket reserve one while
    they are read, so that the same limits apply."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="upload_tickets", db_index=False
    )
    address = models.CharField(max_length=100, help_text="Who asked for it; an IPv6 address counts as its /64 network.")
    bytes = models.BigIntegerField(help_text="Of the upload.")
    room = models.BigIntegerField(help_text="Bytes that it takes on the volume of uploads; may be more than once.")
    secret_hash = models.CharField(max_length=64, blank=True, help_text="SHA-256. Empty: of a body without a ticket.")
    created = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(db_index=True, help_text="By the database's clock.")
    claimed_at = models.DateTimeField(null=True, help_text="Since when an upload with it comes in.")

    class Meta:
        indexes = [models.Index(fields=["owner", "expires_at"]), models.Index(fields=["address", "expires_at"])]

    def __str__(self) -> str:
        return f"{self.bytes} bytes of {self.owner_id}"
