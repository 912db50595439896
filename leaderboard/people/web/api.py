"""API of personal tokens and teams. Users who are neither members nor invited get 404, as if the team did not exist."""

from django.db.models import Q, QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.authentication import SessionAuthentication
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.people import teams as services
from leaderboard.people.authentication import LOGGED_IN, ApiTokenAuthentication, PasswordAuthentication, user_of
from leaderboard.people.models import Membership, Scope, Team, User
from leaderboard.people.services import DEFAULT_DAYS, DEFAULT_SCOPES, create_token, revoke_token, tokens_of
from leaderboard.platform.api.examples import LATER, WHEN, example
from leaderboard.platform.api.shapes import Input, ModelOutput, Output
from leaderboard.platform.api.views import ApiView, ListView


class LoggedInView(ApiView):
    """A view of the caller's own data, for signed-in users."""

    permission_classes = LOGGED_IN


@example({"name": "nightly pipeline", "days": 30, "scopes": ["read", "submit"]})
class TokenInput(Input):
    """A new personal token."""

    name = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=80,
        help_text="For example, the pipeline that uses it.",
    )
    days = serializers.IntegerField(required=False, default=DEFAULT_DAYS, help_text="Lifetime, 1 to 365.")
    scopes = serializers.ListField(
        child=serializers.ChoiceField(choices=Scope.choices),
        required=False,
        default=list(DEFAULT_SCOPES),
        help_text="Its scopes.",
    )


@example({
    "id": "pa_3f9c1b", "name": "nightly pipeline", "created": WHEN, "expires": LATER, "last_used": None,
    "scopes": ["read", "submit"],
})  # fmt: skip
class TokenOutput(Output):
    """A personal token. Its text is shown once, at creation."""

    id = serializers.CharField(source="token_key")
    name = serializers.CharField(source="granted.name", default="", help_text="Empty if it has none.")
    created = serializers.DateTimeField()
    expires = serializers.DateTimeField(source="expiry")
    last_used = serializers.DateTimeField(
        source="granted.last_used", allow_null=True, default=None, help_text="To the minute."
    )
    scopes = serializers.ListField(child=serializers.CharField(), source="granted.scopes", default=[])


@example({
    "id": "pa_3f9c1b", "name": "nightly pipeline", "token": "pa_" + "x" * 40, "expires": LATER,
    "scopes": ["read", "submit"],
})  # fmt: skip
class NewTokenOutput(Output):
    """A new personal token with its text."""

    id = serializers.CharField()
    name = serializers.CharField()
    token = serializers.CharField()
    expires = serializers.DateTimeField()
    scopes = serializers.ListField(child=serializers.CharField())


class TokensView(LoggedInView):
    """One's own tokens; creating one requires a session, or username and password by HTTP Basic."""

    authentication_classes = [ApiTokenAuthentication, SessionAuthentication, PasswordAuthentication]
    throttle_scope = "tokens"
    bodies = {"POST": TokenInput}

    @extend_schema(responses=TokenOutput(many=True))
    def get(self, request: Request) -> Response:
        return Response(TokenOutput(tokens_of(user_of(request)), many=True).data)

    @extend_schema(responses={201: NewTokenOutput})
    def post(self, request: Request) -> Response:
        if request.auth is not None:
            # Otherwise a leaked token could be prolonged.
            raise PermissionDenied("A token cannot create tokens: sign in, or send username and password.")
        made = create_token(user=user_of(request), **self.read(request))
        return Response(NewTokenOutput(made).data, status=status.HTTP_201_CREATED)


class TokenView(LoggedInView):
    """One of one's own tokens."""

    authentication_classes = TokensView.authentication_classes

    @extend_schema(responses={204: None})
    def delete(self, request: Request, token_id: str) -> Response:
        if not revoke_token(user=user_of(request), token_id=token_id):
            raise NotFound("You have no such token.")
        return Response(status=status.HTTP_204_NO_CONTENT)


@example({"slug": "plan-lab", "name": "Plan Lab"})
class TeamInput(Input):
    """A new team."""

    slug = serializers.CharField(help_text="Short name: lower-case letters, digits, `-` and `_`.")
    name = serializers.CharField(help_text="Shown on boards.")


@example({"username": "bea"})
class UserNameInput(Input):
    """A user."""

    username = serializers.CharField()


class MemberOutput(ModelOutput[Membership]):
    """A member of a team."""

    username = serializers.CharField(source="user.username")

    class Meta:
        model = Membership
        fields = ["username", "role", "joined"]


@example({
    "slug": "plan-lab", "name": "Plan Lab", "created": WHEN,
    "members": [{"username": "ada", "role": "owner", "joined": WHEN}], "invited": ["bea"],
})  # fmt: skip
class TeamOutput(ModelOutput[Team]):
    """A team. `invited` lists users with an open invitation."""

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
    user = User.objects.filter(username=username).first()
    if user is None:
        raise NotFound(f"There is no user {username!r}.")
    return user


class TeamsView(ListView[Team]):
    """The teams that the caller is a member of or invited to."""

    serializer_class = TeamOutput
    ordering = ("slug",)
    permission_classes = LOGGED_IN
    bodies = {"POST": TeamInput}

    def get_queryset(self) -> QuerySet[Team]:
        return _seen_by(self.request)

    @extend_schema(responses={201: TeamOutput})
    def post(self, request: Request) -> Response:
        """Create a team that the caller owns."""
        made = services.create_team(owner=user_of(request), **self.read(request))
        return _answer(request=request, slug=made.slug, code=status.HTTP_201_CREATED)


class TeamView(LoggedInView):
    """One of these teams."""

    @extend_schema(responses=TeamOutput)
    def get(self, request: Request, slug: str) -> Response:
        return _answer(request=request, slug=slug)


class MembersView(LoggedInView):
    """Invitations to a team."""

    bodies = {"POST": UserNameInput}

    @extend_schema(responses={201: TeamOutput})
    def post(self, request: Request, slug: str) -> Response:
        """Invite a user, as the owner. They become a member when they accept."""
        team = get_object_or_404(_seen_by(request), slug=slug)
        services.invite(team=team, **self.read(request), by=user_of(request))
        return _answer(request=request, slug=slug, code=status.HTTP_201_CREATED)


class MemberView(LoggedInView):
    """A member, or an invited user."""

    @extend_schema(responses={204: None})
    def delete(self, request: Request, slug: str, username: str) -> Response:
        """As the owner, remove a member or withdraw an invitation; otherwise leave the team or decline."""
        team = get_object_or_404(_seen_by(request), slug=slug)
        user = _find_user(username)
        if not (
            services.remove(team=team, user=user, by=user_of(request))
            or services.end_invitation(team=team, user=user, by=user_of(request))
        ):
            raise NotFound(f"{username} is neither in the team nor invited.")
        return Response(status=status.HTTP_204_NO_CONTENT)


class AcceptView(LoggedInView):
    """Acceptance of an invitation."""

    @extend_schema(responses=TeamOutput)
    def post(self, request: Request, slug: str) -> Response:
        team = get_object_or_404(_seen_by(request), slug=slug)
        if not services.accept_invitation(team=team, user=user_of(request)):
            raise NotFound("You are not invited.")
        return _answer(request=request, slug=slug)


class OwnerView(LoggedInView):
    """The owner of a team."""

    bodies = {"POST": UserNameInput}

    @extend_schema(responses=TeamOutput)
    def post(self, request: Request, slug: str) -> Response:
        """Transfer the team to another member, as the owner."""
        team = get_object_or_404(_seen_by(request), slug=slug)
        services.hand_over(team=team, to=_find_user(**self.read(request)), by=user_of(request))
        return _answer(request=request, slug=slug)
