"""The API of the caller's account: export, closing, deletion."""

from django.http import HttpResponseBase
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import PermissionDenied, Throttled
from rest_framework.exceptions import ValidationError as FieldValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.operations.leaving import closing
from leaderboard.operations.leaving.closing import problem_with
from leaderboard.operations.leaving.export import export_response
from leaderboard.people.authentication import user_of
from leaderboard.people.web.api import LoggedInView
from leaderboard.platform.api.examples import WHEN, example
from leaderboard.platform.api.shapes import Input, Output
from leaderboard.platform.api.throttling import seconds_to_wait


@example({"password": "correct horse battery staple"})
class PasswordInput(Input):
    """Confirmation by the owner of the account."""

    password = serializers.CharField(write_only=True, trim_whitespace=False, help_text="The password of the account.")


@example({
    "format": "planarena-account/1", "username": "ada", "exported_at": WHEN,
    "account": {"email": "ada@example.org", "display_name": "Ada"},
    "api_tokens": [{"id": "pa_3f9c1b", "name": "nightly pipeline", "scopes": ["read", "submit"]}],
    "worker_tokens": [], "teams": [{"team": "plan-lab", "role": "owner"}], "planners": [], "submissions": [],
    "evaluations": [], "audit": [{"by": "ada", "at": WHEN, "action": "token_made"}],
})  # fmt: skip
class AccountExport(Output):
    """All data of the caller. There are also lists of `webhooks`, `invitations`, `checkpoints`, `plans_files`, `plans`,
    `results` and `quota`."""

    format = serializers.CharField(help_text="`planarena-account/1`.")
    username = serializers.CharField()
    exported_at = serializers.DateTimeField()
    account = serializers.JSONField(help_text="Addresses, profile, settings, second factors.")
    api_tokens = serializers.ListField(child=serializers.JSONField())
    worker_tokens = serializers.ListField(child=serializers.JSONField())
    teams = serializers.ListField(child=serializers.JSONField())
    planners = serializers.ListField(child=serializers.JSONField())
    submissions = serializers.ListField(child=serializers.JSONField())
    evaluations = serializers.ListField(child=serializers.JSONField())
    audit = serializers.ListField(child=serializers.JSONField())


_WRONG = OpenApiResponse(description="The password is missing or wrong.")


class AccountView(LoggedInView):
    """The caller's account."""

    throttle_scope = "tokens"
    bodies = {"DELETE": PasswordInput}

    @extend_schema(responses={204: None, 400: _WRONG})
    def delete(self, request: Request) -> Response:
        """Delete the account permanently. Submissions remain, attributed to a deleted user."""
        _confirm(request, password=self.read(request)["password"])
        user = user_of(request)
        closing.delete_account(user=user, by=user)
        return Response(status=status.HTTP_204_NO_CONTENT)


class CloseView(LoggedInView):
    """Closing the caller's account."""

    throttle_scope = "tokens"
    bodies = {"POST": PasswordInput}

    @extend_schema(responses={204: None})
    def post(self, request: Request) -> Response:
        """Disable all access to the account; an operator can reopen it."""
        _confirm(request, password=self.read(request)["password"])
        user = user_of(request)
        closing.close_account(user=user, by=user)
        return Response(status=status.HTTP_204_NO_CONTENT)


class ExportView(LoggedInView):
    """All data of the caller."""

    @extend_schema(responses=AccountExport)
    def get(self, request: Request) -> HttpResponseBase:
        """A JSON document in the format `planarena-account/1`, streamed; at most six per minute."""
        if wait := seconds_to_wait(request._request, scope="exports"):
            raise Throttled(wait)
        return export_response(request=request._request, user=user_of(request))


def _confirm(request: Request, *, password: str) -> None:
    if not user_of(request).has_usable_password():
        raise PermissionDenied("This account has no password: use the account page, or set a password first.")
    if problem := problem_with(request=request._request, user=user_of(request), entered=password):
        raise FieldValidationError({"password": [problem]})
