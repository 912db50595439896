"""The audit log. Rows are only ever added: a trigger refuses every change and deletion.

Its one exception, in the trigger of migration 0001: a transaction that sets a flag may replace the name of a deleted
user and whatever else identifies them. Action, time and object never change.
"""

from django.db import models
from django.utils import timezone


class Action(models.TextChoices):
    """What was done."""

    SUBMITTED = "submitted", "Submitted a planner"
    RERUN = "rerun", "Re-ran an evaluation"
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


class AuditEntry(models.Model):
    """One thing that somebody did.

    It names people and objects by value, not by foreign key: deleting one of them must neither be kept from happening
    by the log nor remove entries.
    """

    at = models.DateTimeField(default=timezone.now)
    actor_key = models.BigIntegerField(null=True)
    """Primary key of the user; null for a command on the operator's own machine."""
    actor = models.CharField(max_length=150, blank=True)
    """Their user name at that time."""
    action = models.CharField(max_length=40, choices=Action)
    target_kind = models.CharField(max_length=40)
    """Name of the model: `evaluation`, `user`, ..."""
    target = models.CharField(max_length=60)
    """Its primary key, or for API tokens what they begin with."""
    label = models.CharField(max_length=200, blank=True)
    """The object in words, as it was called at that time."""
    details = models.JSONField(default=dict)
    """What else there is to know, such as `before` and `after`. Never a secret."""

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
