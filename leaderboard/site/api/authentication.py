"""Who calls the API: people with a token or a password, the operator's workers, and single attempts."""

import hmac
from typing import Any

from allauth.account.adapter import get_adapter
from allauth.account.models import EmailAddress
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.core.exceptions import ValidationError
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from knox.auth import TokenAuthentication
from rest_framework.authentication import BaseAuthentication, BasicAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from leaderboard.accounts.services import note_use
from leaderboard.evaluations.models import OWN_WORKER, Attempt
from leaderboard.queue.leasing.leases import hash_token
from leaderboard.queue.workers.sessions import SessionRefusedError, holder_of_session
from leaderboard.queue.workers.tokens import EnrolmentRefusedError, enrolled


class ApiTokenAuthentication(TokenAuthentication):
    """`Authorization: Bearer pa_...` with a personal token; `Token` is accepted in place of `Bearer`."""

    def authenticate(self, request: Request) -> Any:
        scheme, _, value = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() in {"bearer", "token"} and not value.isascii():
            # The base class breaks where it is no UTF-8.
            raise AuthenticationFailed("Invalid token.")
        if scheme.lower() == "token":
            return self.authenticate_credentials(value.strip().encode())
        return super().authenticate(request)  # type: ignore[no-untyped-call]  # knox has no types

    def authenticate_credentials(self, token: bytes) -> Any:
        user, found = super().authenticate_credentials(token)  # type: ignore[no-untyped-call]  # knox has no types
        note_use(found)
        return user, found


class ApiTokenScheme(OpenApiAuthenticationExtension):
    """Describes the token in the OpenAPI schema."""

    target_class = ApiTokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:  # noqa: ARG002 - the base class's
        return {"type": "http", "scheme": "bearer", "description": "A personal token, made at `POST tokens/`."}


class PasswordAuthentication(BasicAuthentication):
    """HTTP Basic with user name or e-mail address and password: for making a token only."""

    def authenticate_credentials(self, userid: str, password: str, request: Request | None = None) -> tuple[Any, None]:
        if request is None:
            raise AuthenticationFailed("No request.")
        kind = "email" if "@" in userid else "username"
        try:
            # The adapter, not Django's `authenticate`: it slows down who guesses passwords.
            user = get_adapter().authenticate(request._request, **{kind: userid, "password": password})
        except ValidationError as error:
            raise AuthenticationFailed(" ".join(error.messages)) from error
        if user is None or not user.is_active:
            raise AuthenticationFailed("User name or password is wrong.")
        mandatory = settings.ACCOUNT_EMAIL_VERIFICATION == "mandatory"
        if mandatory and not EmailAddress.objects.filter(user=user, verified=True).exists():
            raise AuthenticationFailed("Confirm your e-mail address first.")
        if is_mfa_enabled(user):
            # Or the password alone would make a token that may do everything.
            raise AuthenticationFailed("This account has a second factor: sign in, and make the token on its page.")
        return user, None


class PasswordScheme(OpenApiAuthenticationExtension):
    """Describes HTTP Basic in the OpenAPI schema."""

    target_class = PasswordAuthentication
    name = "password"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:  # noqa: ARG002 - the base class's
        return {"type": "http", "scheme": "basic", "description": "For making a token only."}


class WorkerAuthentication(BaseAuthentication):
    """`Authorization: Bearer` with an enrolment token, a session of a worker, or the credential of one attempt."""

    def authenticate(self, request: Request) -> tuple[None, str]:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise AuthenticationFailed("Send Authorization: Bearer with the worker's token.")
        return None, token.strip()

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002 - the base class's signature
        return "Bearer"


class IsEnrolled(BasePermission):
    """The call has an enrolment token that opens sessions."""

    code = ""
    message = ""

    def has_permission(self, request: Request, view: Any) -> bool:  # noqa: ARG002 - the base class's signature
        try:
            enrolled(str(request.auth))
        except EnrolmentRefusedError as error:
            self.code, self.message = error.code, str(error)
            return False
        return True


class HasWorkerSession(BasePermission):
    """The call has a session of a worker. `view.holder` is the worker."""

    code = ""
    message = ""

    def has_permission(self, request: Request, view: Any) -> bool:
        try:
            view.holder = holder_of_session(str(request.auth))
        except SessionRefusedError as error:
            self.code, self.message = error.code, str(error)
            return False
        return True


class HoldsAttempt(BasePermission):
    """The call has the credential of the attempt that it names. Whether the attempt is live is decided later, with 409.

    `view.split` is that of the attempt's evaluation, `view.is_own` whether a researcher's own worker calls.
    """

    message = "This is not the credential of this attempt, which its lease answered."

    def has_permission(self, request: Request, view: Any) -> bool:
        of_attempt = Attempt.objects.filter(pk=view.kwargs["attempt_id"])
        found = of_attempt.values_list("token_hash", "shard__evaluation__split", "worker").first()
        if found is None or not hmac.compare_digest(found[0], hash_token(str(request.auth))):
            return False
        view.split, view.is_own = found[1], found[2].startswith(OWN_WORKER)
        return True
