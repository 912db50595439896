"""Authentication of API requests by token and by password, and the scopes of tokens."""

from typing import Any

from allauth.account.adapter import get_adapter
from allauth.account.models import EmailAddress
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from knox.auth import TokenAuthentication
from knox.models import AuthToken
from rest_framework.authentication import BasicAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import SAFE_METHODS, BasePermission, IsAuthenticated
from rest_framework.request import Request

from leaderboard.people.models import Scope, User
from leaderboard.people.services import note_use, scopes_of


class ApiTokenAuthentication(TokenAuthentication):
    """`Authorization: Bearer pa_...` with a personal token; `Token` is accepted instead of `Bearer`."""

    def authenticate(self, request: Request) -> Any:
        scheme, _, value = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() in {"bearer", "token"} and not value.isascii():
            # The base class fails if it is not UTF-8.
            raise AuthenticationFailed("Invalid token.")
        if scheme.lower() == "token":
            return self.authenticate_credentials(value.strip().encode())
        return super().authenticate(request)  # type: ignore[no-untyped-call]  # knox has no annotations

    def authenticate_credentials(self, token: bytes) -> Any:
        user, row = super().authenticate_credentials(token)  # type: ignore[no-untyped-call]  # knox has no annotations
        note_use(row)
        return user, row


class ApiTokenScheme(OpenApiAuthenticationExtension):
    """Describes the token in the OpenAPI schema."""

    target_class = ApiTokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:  # noqa: ARG002 - the base class's
        return {"type": "http", "scheme": "bearer", "description": "A personal token, created at `POST tokens/`."}


class PasswordAuthentication(BasicAuthentication):
    """HTTP Basic with username or email address and password, only for creating tokens."""

    def authenticate_credentials(self, userid: str, password: str, request: Request | None = None) -> tuple[Any, None]:
        if request is None:
            raise AuthenticationFailed("No request.")
        kind = "email" if "@" in userid else "username"
        try:
            # The adapter, not Django's `authenticate`, since it limits password guessing.
            user = get_adapter().authenticate(request._request, **{kind: userid, "password": password})
        except ValidationError as error:
            raise AuthenticationFailed(" ".join(error.messages)) from error
        if user is None or not user.is_active:
            raise AuthenticationFailed("User name or password is wrong.")
        mandatory = settings.ACCOUNT_EMAIL_VERIFICATION == "mandatory"
        if mandatory and not EmailAddress.objects.filter(user=user, verified=True).exists():  # type: ignore[misc]  # a `User` at run time
            raise AuthenticationFailed("Confirm your e-mail address first.")
        if is_mfa_enabled(user):
            # Otherwise the password alone would suffice to create a token with all scopes.
            raise AuthenticationFailed("This account has a second factor: sign in, and create the token on its page.")
        return user, None


class PasswordScheme(OpenApiAuthenticationExtension):
    """Describes HTTP Basic in the OpenAPI schema."""

    target_class = PasswordAuthentication
    name = "password"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:  # noqa: ARG002 - the base class's
        return {"type": "http", "scheme": "basic", "description": "Only for creating a token."}


def user_of(request: HttpRequest | Request) -> User:
    """The signed-in user of a request.

    Raises:
        PermissionDenied: the request is anonymous, so the view lacks its `login_required` or permission class.
    """
    if not isinstance(request.user, User):
        raise PermissionDenied
    return request.user


class HasScope(BasePermission):
    """Requires a personal token to have the scope of the call: `read`, or the view's `scope` for changes.

    A view without a scope requires `manage`, so that omissions fail safe. Sessions have no scopes.
    """

    code = "scope_missing"

    def has_permission(self, request: Request, view: Any) -> bool:
        if not isinstance(request.auth, AuthToken):
            return True
        needed = Scope.READ if request.method in SAFE_METHODS else getattr(view, "scope", Scope.MANAGE)
        granted = scopes_of(request.auth)
        self.message = f"This needs a token with the scope {needed.value!r}; yours has: {', '.join(granted) or 'none'}."
        return needed in granted


LOGGED_IN = [IsAuthenticated, HasScope]
"""For views that require an account even for reading."""
