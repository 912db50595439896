"""The ledger of quotas, and its balances."""

from django.conf import settings
from django.db import models

from leaderboard.evaluations.models import Evaluation
from leaderboard.people.models import Team

ALL_SUITES = ""
"""The suite of the balance that counts them all."""
REWARDS = "#rewards"
"""Takes the place of a suite, and is no slug, in the balance that counts seconds of executing plans for rewards, which
has no entries."""


_OF_USER = models.Q(user__isnull=False, team__isnull=True)
_OF_TEAM = models.Q(user__isnull=True, team__isnull=False)


class EntryReason(models.TextChoices):
    """Why an entry was made."""

    SUBMITTED = "submitted", "Submitted"
    NOTHING_RAN = "nothing_ran", "Refunded: cancelled before anything ran"
    NOT_THE_PLANNERS_FAULT = "not_the_planners_fault", "Refunded: failed with infrastructure faults"


class QuotaEntry(models.Model):
    """One evaluation that was charged or refunded. Entries are only ever added."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="quota_entries"
    )
    team = models.ForeignKey(Team, on_delete=models.CASCADE, null=True, related_name="quota_entries")
    """Either user or team: what is submitted for a team has an entry of each."""
    suite = models.CharField(max_length=50)
    """Slug: a new version of a suite is no new quota."""
    day = models.DateField()
    """In UTC. Of a refund the day that was charged, so that a balance is the sum of its entries."""
    evaluation = models.ForeignKey(Evaluation, on_delete=models.CASCADE, related_name="quota_entries")
    amount = models.SmallIntegerField()
    """As how many evaluations it was charged when it was submitted, 1 unless its planner is asked again for more tasks;
    the negative of that when it was refunded."""
    reason = models.CharField(max_length=40, choices=EntryReason)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "quota entries"
        constraints = [
            models.UniqueConstraint(
                fields=["evaluation", "amount"], condition=_OF_USER, name="charged_once_and_refunded_once"
            ),
            models.UniqueConstraint(
                fields=["evaluation", "amount"], condition=_OF_TEAM, name="team_charged_once_and_refunded_once"
            ),
            models.CheckConstraint(condition=_OF_USER | _OF_TEAM, name="an_entry_is_a_users_or_a_teams"),
            models.CheckConstraint(condition=~models.Q(amount=0), name="an_entry_charges_or_refunds_something"),
        ]

    def __str__(self) -> str:
        return f"{self.evaluation_id} {self.amount:+d}"


class QuotaBalance(models.Model):
    """What was used of a day: the row that simultaneous submissions wait for."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="quota_balances", db_index=False
    )
    team = models.ForeignKey(Team, on_delete=models.CASCADE, null=True, related_name="quota_balances", db_index=False)
    """Either user or team."""
    suite = models.CharField(max_length=50, blank=True)
    """Slug, `ALL_SUITES` or `REWARDS`."""
    day = models.DateField()
    used = models.PositiveIntegerField(default=0)
    """Charged and not refunded."""
    charged = models.PositiveIntegerField(default=0)
    """Refunds do not lower it: without a bound on this, what always fails could be submitted without end."""

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "suite", "day"], name="one_balance_per_user_suite_and_day"),
            models.UniqueConstraint(fields=["team", "suite", "day"], name="one_balance_per_team_suite_and_day"),
            models.CheckConstraint(condition=_OF_USER | _OF_TEAM, name="a_balance_is_a_users_or_a_teams"),
            models.CheckConstraint(
                condition=models.Q(used__lte=models.F("charged")), name="no_more_is_used_than_was_charged"
            ),
        ]

    def __str__(self) -> str:
        return (
            f"{f'team {self.team_id}' if self.team_id else self.user_id} {self.suite or 'all'} {self.day}: {self.used}"
        )
