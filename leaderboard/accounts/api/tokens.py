"""The API for personal tokens."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.authentication import SessionAuthentication
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from leaderboard.accounts.api.authentication import ApiTokenAuthentication, PasswordAuthentication
from leaderboard.accounts.api.permissions import LOGGED_IN
from leaderboard.accounts.scopes import DEFAULT_SCOPES, Scope
from leaderboard.accounts.services import DEFAULT_DAYS, create_token, revoke_token, tokens_of
from leaderboard.accounts.signed_in import user_of
from leaderboard.site.api.examples import LATER, WHEN, example


@example({"name": "nightly pipeline", "days": 30, "scopes": ["read", "submit"]})
class TokenInput(serializers.Serializer[Any]):
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
class TokenOutput(serializers.Serializer[Any]):
    """A personal token. Its text is shown once, when it is made."""

    id = serializers.CharField(source="token_key", read_only=True)
    name = serializers.CharField(source="granted.name", read_only=True, default="", help_text="Empty if it has none.")
    created = serializers.DateTimeField(read_only=True)
    expires = serializers.DateTimeField(source="expiry", read_only=True)
    last_used = serializers.DateTimeField(
        source="granted.last_used", read_only=True, allow_null=True, default=None, help_text="To the minute."
    )
    scopes = serializers.ListField(child=serializers.CharField(), source="granted.scopes", read_only=True, default=[])


@example({
    "id": "pa_3f9c1b", "name": "nightly pipeline", "token": "pa_" + "x" * 40, "expires": LATER,
    "scopes": ["read", "submit"],
})  # fmt: skip
class NewTokenOutput(serializers.Serializer[Any]):
    """A personal token that was just made."""

    id = serializers.CharField(read_only=True)
    name = serializers.CharField(read_only=True)
    token = serializers.CharField(read_only=True)
    expires = serializers.DateTimeField(read_only=True)
    scopes = serializers.ListField(child=serializers.CharField(), read_only=True)


class TokensView(APIView):
    """One's own tokens; making one needs a session, or user name and password by HTTP Basic."""

    authentication_classes = [ApiTokenAuthentication, SessionAuthentication, PasswordAuthentication]
    permission_classes = LOGGED_IN
    throttle_scope = "tokens"

    @extend_schema(responses=TokenOutput(many=True))
    def get(self, request: Request) -> Response:
        return Response(TokenOutput(tokens_of(user_of(request)), many=True).data)

    @extend_schema(request=TokenInput, responses={201: NewTokenOutput})
    def post(self, request: Request) -> Response:
        if request.auth is not None:
            # A token that leaks must not be able to outlive itself.
            raise PermissionDenied("A token cannot make tokens: log in, or send user name and password.")
        body = TokenInput(data=request.data)
        body.is_valid(raise_exception=True)
        made = create_token(user=user_of(request), **body.validated_data)
        return Response(NewTokenOutput(made).data, status=status.HTTP_201_CREATED)


class TokenView(APIView):
    """One of one's own tokens."""

    authentication_classes = TokensView.authentication_classes
    permission_classes = LOGGED_IN

    @extend_schema(responses={204: None})
    def delete(self, request: Request, token_id: str) -> Response:
        if not revoke_token(user=user_of(request), token_id=token_id):
            raise NotFound("You have no such token.")
        return Response(status=status.HTTP_204_NO_CONTENT)
