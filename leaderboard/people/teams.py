"""Teams, their members and owners. Pages and API use the same functions.

Every change of members locks the row of the team first, so that counts and the owner are consistent.
"""

import re
from dataclasses import dataclass

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from leaderboard.people.models import Invitation, Membership, Role, Team, User, lock_owner
from leaderboard.platform.audit import record
from leaderboard.platform.hooks import Hook
from leaderboard.platform.models import Action
from leaderboard.platform.problems import FieldErrors, ProblemError

MOST_OWNED = 10
MOST_MEMBERS = 50
LONGEST_NAME = 80
LONGEST_SLUG = 50


class NotAllowedError(ProblemError):
    """The user may not do this; nothing was changed. The message is a sentence for the user."""

    status = 403
    code = "not_allowed"


def create_team(*, owner: User, slug: str, name: str) -> Team:
    """Create a team with one member, its owner.

    Raises:
        FieldErrors: slug or name is invalid or taken, or the user owns too many teams.
    """
    slug, name = slug.strip(), name.strip()
    try:
        with transaction.atomic():
            lock_owner(owner)
            if errors := _check(owner=owner, slug=slug, name=name):
                raise FieldErrors(errors)
            team = Team.objects.create(slug=slug, name=name)
            Membership.objects.create(team=team, user=owner, role=Role.OWNER)
            _note(by=owner, action=Action.TEAM_MADE, team=team)
    except IntegrityError as error:
        # Boards show the name alone, so it is unique too.
        if Team.objects.filter(slug=slug).exists():
            raise FieldErrors({"slug": [f"There is a team {slug!r} already: choose another short name."]}) from error
        raise FieldErrors({"name": [f"There is a team {name!r} already: choose another name."]}) from error
    return team


def _check(*, owner: User, slug: str, name: str) -> dict[str, list[str]]:
    errors: dict[str, list[str]] = {}
    if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
        errors["name"] = [f"A team has a name of 1 to {LONGEST_NAME} printable characters."]
    if re.fullmatch(r"[a-z0-9][a-z0-9_-]*", slug) is None or len(slug) > LONGEST_SLUG:
        errors["slug"] = [
            f"The short name has 1 to {LONGEST_SLUG} lower-case letters, digits, '-' and '_', and begins with a letter "
            "or digit, such as plan-lab."
        ]
    elif Membership.objects.filter(user=owner, role=Role.OWNER).count() >= MOST_OWNED:
        errors["slug"] = [f"You own {MOST_OWNED} teams, the maximum: transfer one first."]
    return errors


def teams_of(user: User) -> QuerySet[Team]:
    """The teams that the user is a member of, by name."""
    return Team.objects.filter(memberships__user=user).order_by("name", "pk")


def invitations_of(user: User) -> QuerySet[Invitation]:
    """The user's open invitations, oldest first."""
    return Invitation.objects.filter(user=user).select_related("team").order_by("created", "pk")


def is_member(*, user_id: int | None, team_id: int | None) -> bool:
    """Whether the user is in the team; False if either is None."""
    if user_id is None or team_id is None:
        return False
    return Membership.objects.filter(team=team_id, user=user_id).exists()


def owns(*, user: User, team: Team) -> bool:
    """Whether the user owns the team."""
    return Membership.objects.filter(team=team, user=user.pk, role=Role.OWNER).exists()


@dataclass(frozen=True, slots=True, kw_only=True)
class Invited:
    """An invitation was created."""

    invitation: Invitation


invited: Hook[Invited] = Hook()
"""Called within the transaction that creates an invitation."""


def invite(*, team: Team, username: str, by: User) -> Invitation:
    """Invite a user to the team. They become a member when they accept.

    Raises:
        NotAllowedError: `by` is not its owner.
        FieldErrors: there is no such user, they are already in the team or invited, or the team is full.
    """
    with transaction.atomic():
        _lock(team)
        _need_owner(team=team, by=by)
        user = User.objects.filter(username=username.strip(), is_active=True).first()
        if user is None:
            raise FieldErrors({"username": [f"There is no user {username.strip()!r}."]})
        if is_member(user_id=user.pk, team_id=team.pk):
            raise FieldErrors({"username": [f"{user.username} is already in the team."]})
        if team.memberships.count() + team.invitations.count() >= MOST_MEMBERS:
            raise FieldErrors({"username": [f"A team has at most {MOST_MEMBERS} members and open invitations."]})
        invitation, is_new = Invitation.objects.get_or_create(team=team, user=user)
        if not is_new:
            raise FieldErrors({"username": [f"{user.username} is already invited."]})
        _note(by=by, action=Action.TEAM_INVITED, team=team, user=user)
        invited.call(Invited(invitation=invitation))
    return invitation


def accept_invitation(*, team: Team, user: User) -> bool:
    """Make an invited user a member. False if the user is not invited."""
    with transaction.atomic():
        _lock(team)
        if not Invitation.objects.filter(team=team, user=user).delete()[0]:
            return False
        Membership.objects.create(team=team, user=user)
        _note(by=user, action=Action.TEAM_JOINED, team=team)
    return True


def end_invitation(*, team: Team, user: User, by: User) -> bool:
    """Decline an invitation, or withdraw it as the team's owner. False if there is none.

    Raises:
        NotAllowedError: `by` is neither the invited user nor the team's owner.
    """
    with transaction.atomic():
        _lock(team)
        if by.pk != user.pk:
            _need_owner(team=team, by=by)
        if not Invitation.objects.filter(team=team, user=user).delete()[0]:
            return False
        _note(by=by, action=Action.TEAM_INVITATION_ENDED, team=team, user=user)
    return True


def remove(*, team: Team, user: User, by: User) -> bool:
    """Remove a member from the team, or leave it. False if the user is not a member. Their submissions for the team
    remain the team's.

    Raises:
        NotAllowedError: `by` is neither the member nor the owner, or the member is the owner.
    """
    with transaction.atomic():
        _lock(team)
        if by.pk != user.pk:
            _need_owner(team=team, by=by)
        membership = Membership.objects.filter(team=team, user=user).first()
        if membership is None:
            return False
        if membership.role == Role.OWNER:
            raise NotAllowedError("The owner cannot leave: transfer the team to another member first.")
        membership.delete()
        left = by.pk == user.pk
        _note(by=by, action=Action.TEAM_LEFT if left else Action.TEAM_REMOVED, team=team, user=user)
    return True


def hand_over(*, team: Team, to: User, by: User) -> None:
    """Transfer the team to another member; the previous owner remains a member.

    Raises:
        NotAllowedError: `by` is not the owner, or `to` is not in the team.
    """
    with transaction.atomic():
        _lock(team)
        _need_owner(team=team, by=by)
        if not is_member(user_id=to.pk, team_id=team.pk):
            raise NotAllowedError(f"{to.username} is not in the team.")
        # In this order, since there is at most one owner.
        Membership.objects.filter(team=team, user=by).update(role=Role.MEMBER)
        Membership.objects.filter(team=team, user=to).update(role=Role.OWNER)
        _note(by=by, action=Action.TEAM_HANDED_OVER, team=team, user=to)


def hand_over_all(*, user: User) -> None:
    """Transfer each team that the user owns to another member, if there is one, within the current transaction."""
    for membership in Membership.objects.filter(user=user, role=Role.OWNER).select_related("team"):
        _pass_on(team=membership.team, owner=user)


def leave_all(*, user: User) -> None:
    """Leave every team, within the current transaction.

    After: the user is in no team; teams they owned belong to another member; teams without other members are deleted,
    or, if they have submissions, reduced to their name.
    """
    for membership in Membership.objects.filter(user=user).select_related("team").order_by("team"):
        team = membership.team
        if membership.role == Role.OWNER:
            _pass_on(team=team, owner=user)
        Membership.objects.filter(team=team, user=user).delete()
        _note(by=user, action=Action.TEAM_LEFT, team=team, user=user)
        if not team.memberships.exists():
            team.invitations.all().delete()
            if team.submissions.exists():
                Team.objects.filter(pk=team.pk).update(description="", link="", shows_members=False)
            else:
                team.delete()


def heir_of(*, team: Team, owner: User) -> User | None:
    """The next owner of a team when its owner leaves: the longest-standing member, preferably with an active
    account."""
    others = team.memberships.exclude(user=owner).select_related("user")
    heir = others.order_by("-user__is_active", "joined", "pk").first()
    return None if heir is None else heir.user


def heirs_of(owner: User) -> list[tuple[Team, User | None]]:
    """The teams of an owner by name, each with its next owner; None if there is no other member."""
    owned = Membership.objects.filter(user=owner, role=Role.OWNER).values("team")
    others = Membership.objects.filter(team__in=owned).exclude(user=owner).select_related("user")
    heirs: dict[int, User] = {}
    for membership in others.order_by("-user__is_active", "joined", "pk"):
        heirs.setdefault(membership.team_id, membership.user)
    return [(team, heirs.get(team.pk)) for team in Team.objects.filter(pk__in=owned).order_by("name")]


def _pass_on(*, team: Team, owner: User) -> None:
    _lock(team)
    heir = heir_of(team=team, owner=owner)
    if heir is not None:
        hand_over(team=team, to=heir, by=owner)


def _lock(team: Team) -> None:
    Team.objects.select_for_update(no_key=True).get(pk=team.pk)


def _need_owner(*, team: Team, by: User) -> None:
    if not owns(user=by, team=team):
        raise NotAllowedError("Only the owner of a team may do this.")


def _note(*, by: User, action: Action, team: Team, user: User | None = None) -> None:
    details = {} if user is None else {"user": user.username}
    record(by=by, action=action, target=team, label=team.name, details=details)
