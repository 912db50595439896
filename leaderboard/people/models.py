"""Users, their teams, and the scopes of their tokens."""

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Lower
from knox.models import AuthToken


class Scope(models.TextChoices):
    """Permissions of a personal token. Sessions are not limited by scopes."""

    READ = "read", "Read everything that you can see"
    SUBMIT = "submit", "Submit, resume, accept, cancel and re-run evaluations"
    MANAGE = "manage", "Manage teams, webhooks, worker tokens and API tokens"


class Mails(models.TextChoices):
    """Which emails a user gets."""

    NONE = "none", "Never"
    NEEDED = "needed", "When an evaluation needs my action, failed, or was not verified"
    ENDED = "ended", "Also when an evaluation completes"


class User(AbstractUser):
    """A person with an account. A custom model, so that fields can be added later."""

    queue_weight = models.PositiveSmallIntegerField(default=1)
    """Set by the operator: a user with weight 2 gets twice the workers of one with weight 1. The site's own account has
    weight 0: its evaluations are leased only while nobody else's wait."""
    display_name = models.CharField(max_length=80, blank=True)
    """Name on the profile, which is public."""
    affiliation = models.CharField(max_length=120, blank=True)
    link = models.URLField(max_length=200, blank=True)
    bio = models.TextField(blank=True)
    """Plain text."""

    mails = models.CharField(max_length=10, choices=Mails, default=Mails.NEEDED)
    """Which outcomes of their evaluations they get an email about."""

    closed_at = models.DateTimeField(null=True)
    """When the owner closed the account; an operator can reopen it unless it was deleted."""
    deleted_at = models.DateTimeField(null=True)
    """When the personal data was erased (`operations/leaving/closing.py`). Published evaluations still refer to the
    row."""

    class Meta(AbstractUser.Meta):
        constraints = [
            models.CheckConstraint(condition=models.Q(mails__in=Mails.values), name="a_known_choice_of_mails"),
            models.CheckConstraint(
                condition=models.Q(closed_at=None) | models.Q(is_active=False), name="nobody_signs_in_to_what_is_closed"
            ),
            models.CheckConstraint(
                condition=models.Q(deleted_at=None) | models.Q(email="", bio="", display_name="", is_staff=False),
                name="of_who_was_deleted_nothing_is_known",
            ),
        ]


class Erasure(models.Model):
    """An unfinished deletion, with the name that is still to be removed from logs and boards."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True)
    username = models.CharField(max_length=150)
    """The former name."""
    created = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return str(self.user)


class TokenScopes(models.Model):
    """The scopes and the name of a personal token. A token without this row has no scopes."""

    token = models.OneToOneField(AuthToken, on_delete=models.CASCADE, primary_key=True, related_name="granted")
    scopes = ArrayField(models.CharField(max_length=10, choices=Scope))
    name = models.CharField(max_length=80, blank=True, default="", db_default="")
    """Chosen by the owner; optional in the API."""
    last_used = models.DateTimeField(null=True)
    """To the minute."""

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(scopes__contained_by=["read", "submit", "manage"]), name="a_token_has_known_scopes"
            )
        ]

    def __str__(self) -> str:
        return f"{self.token_id[:8]}: {', '.join(self.scopes)}"


class Team(models.Model):
    """Users who submit together: every member may act on the team's submissions."""

    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=80)
    created = models.DateTimeField(auto_now_add=True)
    description = models.TextField(blank=True)
    """Text of the public page."""
    link = models.URLField(max_length=200, blank=True)
    shows_members = models.BooleanField(default=False)
    """Whether the list of members is public."""
    queue_weight = models.PositiveSmallIntegerField(default=1)
    """Set by the operator, like a user's: a team of weight 2 gets twice the workers, for all members together."""

    class Meta:
        constraints = [
            models.UniqueConstraint(Lower("name"), name="one_team_per_name"),
            models.CheckConstraint(condition=models.Q(queue_weight__gte=1), name="a_team_weighs_at_least_one"),
        ]

    def __str__(self) -> str:
        return self.name


class Role(models.TextChoices):
    """The role of a member. All members may submit and act for the team."""

    OWNER = "owner", "Owner"
    """Invites and removes members, and can transfer the team. Every team has exactly one."""
    MEMBER = "member", "Member"


class Membership(models.Model):
    """A user's membership in a team, which they have accepted."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships", db_index=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role, default=Role.MEMBER)
    joined = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "user"], name="one_membership_per_team_and_user"),
            models.UniqueConstraint(
                fields=["team"], condition=models.Q(role="owner"), name="a_team_has_at_most_one_owner"
            ),
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="a_member_has_a_known_role"),
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.team}"


class Invitation(models.Model):
    """A user's open invitation to a team."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="invitations", db_index=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="invitations")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "user"], name="one_invitation_per_team_and_user")]

    def __str__(self) -> str:
        return f"{self.user} to {self.team}"


def lock_owner(owner: User) -> None:
    """Lock a user until the end of the transaction, so that their tokens or teams can be counted."""
    User.objects.select_for_update(no_key=True).get(pk=owner.pk)
