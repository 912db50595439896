"""People who submit planners, and the teams that they submit for."""

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Lower
from knox.models import AuthToken


class Scope(models.TextChoices):
    """What a personal token may do, with its label for people. Sessions are not bound by scopes."""

    READ = "read", "Read everything that you can see"
    SUBMIT = "submit", "Submit, resume, accept, cancel and re-run evaluations"
    MANAGE = "manage", "Manage teams, webhooks, worker tokens and API tokens"


class Mails(models.TextChoices):
    """Of what a user gets mails."""

    NONE = "none", "Of nothing"
    NEEDED = "needed", "When an evaluation needs my action, failed, or was not verified"
    ENDED = "ended", "Also when an evaluation completes"


class User(AbstractUser):
    """A person with an account. Its own class from the start, so that it can grow without a painful migration."""

    queue_weight = models.PositiveSmallIntegerField(default=1)
    """Set by the operator: a user with weight 2 gets twice the workers that one with weight 1 gets."""
    display_name = models.CharField(max_length=80, blank=True)
    """How they want to be called on their profile; what they tell of themselves there is public."""
    affiliation = models.CharField(max_length=120, blank=True)
    link = models.URLField(max_length=200, blank=True)
    bio = models.TextField(blank=True)
    """Plain text."""

    mails = models.CharField(max_length=10, choices=Mails, default=Mails.NEEDED)
    """Of which of their evaluations' ways to end or wait they get a mail."""

    closed_at = models.DateTimeField(null=True)
    """When its owner closed it; an operator can open it again, unless it was deleted."""
    deleted_at = models.DateTimeField(null=True)
    """When the person was erased (`operations/leaving/closing.py`). The row stays, since what they published refers to
    it."""

    class Meta(AbstractUser.Meta):
        constraints = [
            models.CheckConstraint(condition=models.Q(queue_weight__gte=1), name="a_weight_is_at_least_one"),
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
    """A deletion that is not finished: the name that is still to be taken out of logs and boards."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True)
    username = models.CharField(max_length=150)
    """Their name before."""
    created = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return str(self.user)


class TokenScopes(models.Model):
    """What a personal token is good for, and what its owner calls it. A token without this row is good for nothing."""

    token = models.OneToOneField(AuthToken, on_delete=models.CASCADE, primary_key=True, related_name="granted")
    scopes = ArrayField(models.CharField(max_length=10, choices=Scope))
    name = models.CharField(max_length=80, blank=True, default="", db_default="")
    """Chosen by the owner; empty where an API call gave none."""
    last_used = models.DateTimeField(null=True)
    """When a request last came with it, to the minute."""

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(scopes__contained_by=["read", "submit", "manage"]), name="a_token_has_known_scopes"
            )
        ]

    def __str__(self) -> str:
        return f"{self.token_id[:8]}: {', '.join(self.scopes)}"


class Team(models.Model):
    """People who submit together: what is submitted for a team, each of its members may act on."""

    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=80)
    created = models.DateTimeField(auto_now_add=True)
    description = models.TextField(blank=True)
    """What the team tells of itself on its public page; plain text."""
    link = models.URLField(max_length=200, blank=True)
    shows_members = models.BooleanField(default=False)
    """Whether everybody sees who is in it."""
    queue_weight = models.PositiveSmallIntegerField(default=1)
    """Set by the operator, as a user's: what is for a team of weight 2 gets twice the workers, all members together."""

    class Meta:
        constraints = [
            models.UniqueConstraint(Lower("name"), name="one_team_per_name"),
            models.CheckConstraint(condition=models.Q(queue_weight__gte=1), name="a_team_weighs_at_least_one"),
        ]

    def __str__(self) -> str:
        return self.name


class Role(models.TextChoices):
    """What a member may do beyond submitting and acting for the team."""

    OWNER = "owner", "Owner"
    """Invites and removes members, and hands the team over. Every team has exactly one."""
    MEMBER = "member", "Member"


class Membership(models.Model):
    """That somebody is in a team, with their own consent."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
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
    """That a team wants somebody, who has not answered yet."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="invitations")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="invitations")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "user"], name="one_invitation_per_team_and_user")]

    def __str__(self) -> str:
        return f"{self.user} to {self.team}"


def lock_owner(owner: User) -> None:
    """Until the end of the transaction nobody else adds to what the user has, so that it can be counted."""
    User.objects.select_for_update(no_key=True).get(pk=owner.pk)
