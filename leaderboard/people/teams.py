"""Teams: who is in them and who says so. Pages and API use the same functions.

Whoever changes who is in a team locks its row first, so that its members are counted and its owner found as they are.
"""

import re

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from leaderboard.people.models import Invitation, Membership, Role, Team, User, lock_owner
from leaderboard.platform.audit import record
from leaderboard.platform.models import Action
from leaderboard.platform.problems import FieldErrors, ProblemError

MOST_OWNED = 10
MOST_MEMBERS = 50
LONGEST_NAME = 80
LONGEST_SLUG = 50


class NotAllowedError(ProblemError):
    """This person may not do that with this team; nothing was changed. The message is a sentence for them."""

    status = 403
    code = "not_allowed"


def create_team(*, owner: User, slug: str, name: str) -> Team:
    """Make a team with one member, its owner.

    Raises:
        FieldErrors: slug or name is not possible or taken, or the user owns too many teams.
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
        raise FieldErrors(_taken(slug=slug, name=name)) from error
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


def _taken(*, slug: str, name: str) -> dict[str, list[str]]:
    """What another team has already: boards show the name alone, so that this, too, is one team's."""
    if Team.objects.filter(slug=slug).exists():
        return {"slug": [f"There is a team {slug!r} already: choose another short name."]}
    return {"name": [f"There is a team {name!r} already: choose another name."]}


def teams_of(user: User) -> QuerySet[Team]:
    """The teams that the user is a member of, by name."""
    return Team.objects.filter(memberships__user=user).order_by("name", "pk")


def invitations_of(user: User) -> QuerySet[Invitation]:
    """The invitations that the user has not answered, the oldest first."""
    return Invitation.objects.filter(user=user).select_related("team").order_by("created", "pk")


def is_member(*, user_id: int | None, team_id: int | None) -> bool:
    """Whether the user is in the team; False where either is nobody."""
    if user_id is None or team_id is None:
        return False
    return Membership.objects.filter(team=team_id, user=user_id).exists()


def owns(*, user: User, team: Team) -> bool:
    """Whether the team is the user's."""
    return Membership.objects.filter(team=team, user=user.pk, role=Role.OWNER).exists()


def invite(*, team: Team, username: str, by: User) -> Invitation:
    """Ask somebody into the team. They are in it when they accept.

    Raises:
        NotAllowedError: `by` is not its owner.
        FieldErrors: there is no such user, they are in the team or asked already, or the team is full.
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
        invitation, made = Invitation.objects.get_or_create(team=team, user=user)
        if not made:
            raise FieldErrors({"username": [f"{user.username} is already invited."]})
        _note(by=by, action=Action.TEAM_INVITED, team=team, user=user)
    return invitation


def accept_invitation(*, team: Team, user: User) -> bool:
    """Become a member. False if the user is not invited."""
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
        NotAllowedError: `by` is neither who was invited nor the team's owner.
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
    """Take somebody out of the team; removing oneself is leaving. False if they are not in it.

    What they submitted for the team stays the team's.

    Raises:
        NotAllowedError: `by` is neither they themselves nor the owner, or it is the owner who would go.
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
    """Make another member the owner; the owner until now stays as a member.

    Raises:
        NotAllowedError: `by` is not the owner, or `to` is not in the team.
    """
    with transaction.atomic():
        _lock(team)
        _need_owner(team=team, by=by)
        if not is_member(user_id=to.pk, team_id=team.pk):
            raise NotAllowedError(f"{to.username} is not in the team.")
        # In this order: there is never more than one owner.
        Membership.objects.filter(team=team, user=by).update(role=Role.MEMBER)
        Membership.objects.filter(team=team, user=to).update(role=Role.OWNER)
        _note(by=by, action=Action.TEAM_HANDED_OVER, team=team, user=to)


def hand_over_all(*, user: User) -> None:
    """Give the user's teams that have other members to one of those, within the present transaction."""
    for membership in Membership.objects.filter(user=user, role=Role.OWNER).select_related("team"):
        _pass_on(team=membership.team, owner=user)


def leave_all(*, user: User) -> None:
    """Leave every team, within the present transaction.

    After: the user is in none; teams of theirs belong to another member; those without other members are gone, or, if
    something was submitted for them, stay with their name alone.
    """
    for membership in Membership.objects.filter(user=user).select_related("team").order_by("team"):
        team = membership.team
        if membership.role == Role.OWNER:
            _pass_on(team=team, owner=user)
        Membership.objects.filter(team=team, user=user).delete()
        _note(by=user, action=Action.TEAM_LEFT, team=team, user=user)
        if not team.memberships.exists():
            _end_empty(team)


def heir_of(*, team: Team, owner: User) -> User | None:
    """Who owns the team when its owner goes: who has been in it for longest, of those that can sign in if any can."""
    others = team.memberships.exclude(user=owner).select_related("user")
    heir = others.order_by("-user__is_active", "joined", "pk").first()
    return None if heir is None else heir.user


def heirs_of(owner: User) -> list[tuple[Team, User | None]]:
    """The teams of an owner, by name, each with who owns it when the owner goes; None where nobody else is in it."""
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


def _end_empty(team: Team) -> None:
    team.invitations.all().delete()
    if team.submissions.exists():
        Team.objects.filter(pk=team.pk).update(description="", link="", shows_members=False)
    else:
        team.delete()


def _lock(team: Team) -> None:
    Team.objects.select_for_update(no_key=True).get(pk=team.pk)


def _need_owner(*, team: Team, by: User) -> None:
    if not owns(user=by, team=team):
        raise NotAllowedError("Only the owner of a team may do this.")


def _note(*, by: User, action: Action, team: Team, user: User | None = None) -> None:
    details = {} if user is None else {"user": user.username}
    record(by=by, action=action, target=team, label=team.name, details=details)
