"""The API for personal tokens."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.authentication import SessionAuthentication
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.people.authentication import ApiTokenAuthentication, PasswordAuthentication, user_of
from leaderboard.people.models import Scope
from leaderboard.people.services import DEFAULT_DAYS, DEFAULT_SCOPES, create_token, revoke_token, tokens_of
from leaderboard.people.web.api.views import LoggedInView
from leaderboard.platform.api.examples import LATER, WHEN, example
from leaderboard.platform.api.shapes import Input, Output


@example({"name": "nightly pipeline", "days": 30, "scopes": ["read", "submit"]})
class TokenInput(Input):
    """A personal token to make."""

    name = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=80,
        help_text="What you call it, such as the pipeline that uses it.",
    )
    days = serializers.IntegerField(required=False, default=DEFAULT_DAYS, help_text="How long it lasts, 1 to 365.")
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
    """A personal token. Its text is shown once, when it is made."""

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
    """A personal token that was just made."""

    id = serializers.CharField()
    name = serializers.CharField()
    token = serializers.CharField()
    expires = serializers.DateTimeField()
    scopes = serializers.ListField(child=serializers.CharField())


class TokensView(LoggedInView):
    """One's own tokens; making one needs a session, or user name and password by HTTP Basic."""

    authentication_classes = [ApiTokenAuthentication, SessionAuthentication, PasswordAuthentication]
    throttle_scope = "tokens"
    bodies = {"POST": TokenInput}

    @extend_schema(responses=TokenOutput(many=True))
    def get(self, request: Request) -> Response:
        return Response(TokenOutput(tokens_of(user_of(request)), many=True).data)

    @extend_schema(responses={201: NewTokenOutput})
    def post(self, request: Request) -> Response:
        if request.auth is not None:
            # A token that leaks must not be able to outlive itself.
            raise PermissionDenied("A token cannot make tokens: log in, or send user name and password.")
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
