"""The API about teams. To who is neither in a team nor invited, there is none."""

from django.db.models import Q, QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.people import teams as services
from leaderboard.people.authentication import LOGGED_IN, user_of
from leaderboard.people.models import Membership, Team, User
from leaderboard.people.web.api.views import LoggedInView
from leaderboard.platform.api.examples import WHEN, example
from leaderboard.platform.api.shapes import Input, ModelOutput
from leaderboard.platform.api.views import ListView


@example({"slug": "plan-lab", "name": "Plan Lab"})
class TeamInput(Input):
    """A team to make."""

    slug = serializers.CharField(help_text="Short name: lower-case letters, digits, `-` and `_`.")
    name = serializers.CharField(help_text="Shown on boards.")


@example({"username": "bea"})
class UserNameInput(Input):
    """Somebody."""

    username = serializers.CharField()


class MemberOutput(ModelOutput[Membership]):
    """Somebody in a team."""

    username = serializers.CharField(source="user.username")

    class Meta:
        model = Membership
        fields = ["username", "role", "joined"]


@example({
    "slug": "plan-lab", "name": "Plan Lab", "created": WHEN,
    "members": [{"username": "ada", "role": "owner", "joined": WHEN}], "invited": ["bea"],
})  # fmt: skip
class TeamOutput(ModelOutput[Team]):
    """A team. `invited` are those who have not answered yet."""

    members = MemberOutput(source="memberships", many=True)
    invited = serializers.SerializerMethodField()

    class Meta:
        model = Team
        fields = ["slug", "name", "created", "members", "invited"]

    def get_invited(self, team: Team) -> list[str]:
        return [invitation.user.username for invitation in team.invitations.all()]


def _seen_by(request: Request) -> QuerySet[Team]:
    mine = Q(memberships__user=request.user.pk) | Q(invitations__user=request.user.pk)
    related = Team.objects.filter(mine).prefetch_related("memberships__user", "invitations__user")
    return related.distinct().order_by("slug")


def _answer(*, request: Request, slug: str, code: int = status.HTTP_200_OK) -> Response:
    return Response(TeamOutput(get_object_or_404(_seen_by(request), slug=slug)).data, status=code)


def _find_user(username: str) -> User:
    found = User.objects.filter(username=username).first()
    if found is None:
        raise NotFound(f"There is no user {username!r}.")
    return found


class TeamsView(ListView[Team]):
    """The teams that the caller is in or invited to, and making one."""

    serializer_class = TeamOutput
    ordering = ("slug",)
    permission_classes = LOGGED_IN
    bodies = {"POST": TeamInput}

    def get_queryset(self) -> QuerySet[Team]:
        return _seen_by(self.request)

    @extend_schema(responses={201: TeamOutput})
    def post(self, request: Request) -> Response:
        """Make a team that the caller owns."""
        made = services.create_team(owner=user_of(request), **self.read(request))
        return _answer(request=request, slug=made.slug, code=status.HTTP_201_CREATED)


class TeamView(LoggedInView):
    """One of these teams."""

    @extend_schema(responses=TeamOutput)
    def get(self, request: Request, slug: str) -> Response:
        return _answer(request=request, slug=slug)


class MembersView(LoggedInView):
    """Inviting somebody."""

    bodies = {"POST": UserNameInput}

    @extend_schema(responses={201: TeamOutput})
    def post(self, request: Request, slug: str) -> Response:
        """Only the owner may; who is invited is in the team when they accept."""
        team = get_object_or_404(_seen_by(request), slug=slug)
        services.invite(team=team, **self.read(request), by=user_of(request))
        return _answer(request=request, slug=slug, code=status.HTTP_201_CREATED)


class MemberView(LoggedInView):
    """One member, or one who is invited."""

    @extend_schema(responses={204: None})
    def delete(self, request: Request, slug: str, username: str) -> Response:
        """Remove a member or withdraw an invitation as the owner; leave or decline as oneself."""
        team = get_object_or_404(_seen_by(request), slug=slug)
        user = _find_user(username)
        if not (
            services.remove(team=team, user=user, by=user_of(request))
            or services.end_invitation(team=team, user=user, by=user_of(request))
        ):
            raise NotFound(f"{username} is neither in the team nor invited.")
        return Response(status=status.HTTP_204_NO_CONTENT)


class AcceptView(LoggedInView):
    """Accepting an invitation."""

    @extend_schema(responses=TeamOutput)
    def post(self, request: Request, slug: str) -> Response:
        team = get_object_or_404(_seen_by(request), slug=slug)
        if not services.accept_invitation(team=team, user=user_of(request)):
            raise NotFound("You are not invited.")
        return _answer(request=request, slug=slug)


class OwnerView(LoggedInView):
    """Handing a team over."""

    bodies = {"POST": UserNameInput}

    @extend_schema(responses=TeamOutput)
    def post(self, request: Request, slug: str) -> Response:
        """Only the owner may, and only to a member."""
        team = get_object_or_404(_seen_by(request), slug=slug)
        services.hand_over(team=team, to=_find_user(**self.read(request)), by=user_of(request))
        return _answer(request=request, slug=slug)
