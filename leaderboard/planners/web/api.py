"""The API of uploads, of one's own checkpoints, and of secret headers.

An upload is a ticket first, then the bytes, which `leaderboard.platform.uploads.receiving` takes before this view.
"""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import serializers, status
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, NotFound
from rest_framework.exceptions import ValidationError as FieldValidationError
from rest_framework.parsers import BaseParser, MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.people.authentication import LOGGED_IN, user_of
from leaderboard.people.models import Scope
from leaderboard.planners import checkpoints, secret_headers
from leaderboard.planners.models import CheckpointUpload, Planner
from leaderboard.planners.web.serializers import HeaderInput, HeaderOutput
from leaderboard.platform.api.examples import ATTEMPT_ID, DIGEST, LATER, WHEN, example
from leaderboard.platform.api.parsers import TooLargeError
from leaderboard.platform.api.shapes import Input
from leaderboard.platform.api.views import ApiView
from leaderboard.platform.http.addresses import address_of
from leaderboard.platform.models import UploadTicket
from leaderboard.platform.problems import FieldErrors
from leaderboard.platform.uploads import services
from leaderboard.platform.uploads.receiving import RECEIVED


@example({"file": "(the bytes of the zip)"})
class CheckpointInput(Input):
    """A checkpoint to upload."""

    file = serializers.FileField(
        help_text="A zip of config.json, the tokenizer's files and model*.safetensors, at its top or in one folder."
    )


@example({
    "digest": DIGEST, "bytes": 712345, "architecture": "t5", "parameters": 176400, "weights_bytes": 705600,
    "created": WHEN, "removed_at": "2026-03-02T12:00:00Z",
})  # fmt: skip
class CheckpointOutput(serializers.ModelSerializer[CheckpointUpload]):
    """An uploaded checkpoint. Submit it by its digest."""

    removed_at = serializers.SerializerMethodField(help_text="When it is removed, unless it is submitted before.")

    class Meta:
        model = CheckpointUpload
        fields = ["digest", "bytes", "architecture", "parameters", "weights_bytes", "created", "removed_at"]
        read_only_fields = fields

    def get_removed_at(self, upload: CheckpointUpload) -> datetime:
        return upload.wanted_at + timedelta(hours=settings.UNUSED_CHECKPOINT_HOURS)


class CheckpointsView(ApiView):
    """One's uploaded checkpoints, the newest first."""

    permission_classes = LOGGED_IN
    parser_classes = [MultiPartParser]
    scope = Scope.SUBMIT
    throttle_scope = "submissions"
    bodies = {"POST": CheckpointInput}

    @extend_schema(responses=CheckpointOutput(many=True))
    def get(self, request: Request) -> Response:
        return Response(CheckpointOutput(checkpoints.uploads_of(user_of(request)), many=True).data)

    @extend_schema(responses={201: CheckpointOutput})
    def post(self, request: Request) -> Response:
        file = self.read(request)["file"]
        try:
            made = checkpoints.keep_upload(owner=user_of(request), file=file)
        except checkpoints.TooLargeError as error:
            raise TooLargeError(str(error)) from None
        return Response(CheckpointOutput(made).data, status=status.HTTP_201_CREATED)


@example({"bytes": 712345})
class UploadInput(Input):
    """An upload to come."""

    bytes = serializers.IntegerField(min_value=1, help_text="Of the checkpoint's zip, exactly.")


@example({
    "id": ATTEMPT_ID, "url": f"https://arena.example/api/v1/uploads/{ATTEMPT_ID}/",
    "secret": "pau_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG", "expires_at": LATER,
})  # fmt: skip
class UploadOutput(serializers.Serializer[Any]):
    """A ticket for one upload: `PUT` the bytes to `url`, with `Authorization: Bearer` and the secret."""

    id = serializers.UUIDField(read_only=True)
    url = serializers.CharField(read_only=True, help_text="Where the bytes go.")
    secret = serializers.CharField(read_only=True, help_text="Shown this once.")
    expires_at = serializers.DateTimeField(read_only=True, help_text="Until when the upload must have begun.")


class UploadsView(ApiView):
    """Ask for a ticket to upload a checkpoint."""

    permission_classes = LOGGED_IN
    scope = Scope.SUBMIT
    throttle_scope = "submissions"
    bodies = {"POST": UploadInput}

    @extend_schema(responses={201: UploadOutput})
    def post(self, request: Request) -> Response:
        """A user has at most four uploads open, an address eight; more get 429, and so does everybody while too many
        bytes are on their way."""
        size = self.read(request)["bytes"]
        if size > settings.MAX_CHECKPOINT_BYTES:
            raise TooLargeError(str(checkpoints.TooLargeError()))
        ticket = services.ask(owner_id=user_of(request).pk, address=address_of(request._request), size=size)
        shown = {
            "id": ticket.row.pk,
            "url": request.build_absolute_uri(f"{request.path}{ticket.row.pk}/"),
            "secret": ticket.secret,
            "expires_at": UploadTicket.objects.get(pk=ticket.row.pk).expires_at,
        }
        return Response(UploadOutput(shown).data, status=status.HTTP_201_CREATED)


class TicketAuthentication(BaseAuthentication):
    """`Authorization: Bearer` with a ticket's secret."""

    def authenticate(self, request: Request) -> tuple[Any, UploadTicket]:
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        ticket_id = request.parser_context["kwargs"]["ticket_id"]
        row = services.find(ticket_id=ticket_id, secret=secret.strip()) if scheme.lower() == "bearer" else None
        if row is None:
            raise AuthenticationFailed("There is no such ticket, or it has expired: ask for one at POST uploads/.")
        return row.owner, row

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002 - the base class's
        return "Bearer"


class AnyBody(BaseParser):
    """What has been taken already."""

    media_type = "*/*"

    def parse(self, *_: Any, **__: Any) -> dict[str, Any]:
        """Nothing is left to read."""
        return {}


class UploadView(ApiView):
    """The bytes of an upload."""

    authentication_classes = [TicketAuthentication]
    permission_classes = LOGGED_IN
    parser_classes = [AnyBody]
    throttle_scope = None

    @extend_schema(
        request={"application/octet-stream": OpenApiTypes.BINARY}, responses={201: CheckpointOutput}, auth=[]
    )
    def put(self, request: Request, ticket_id: UUID) -> Response:
        """Send the zip as it is. An upload that broke off may be sent again from its beginning with the same ticket,
        within ten minutes; one that is refused ends it."""
        digest = getattr(request._request, "scope", {}).get(RECEIVED)
        if digest is None:
            raise serializers.ValidationError({"file": ["No bytes came with this request."]})
        try:
            kept = checkpoints.keep_file(owner=user_of(request), path=services.path_of(ticket_id), digest=digest)
        finally:
            services.end(ticket_id)
        return Response(CheckpointOutput(kept).data, status=status.HTTP_201_CREATED)


class HeaderView(ApiView):
    """The secret header of a submission's planner, for its owner. It holds for all submissions of the planner, also for
    what runs already."""

    permission_classes = LOGGED_IN
    scope = Scope.SUBMIT
    bodies = {"PUT": HeaderInput}

    @extend_schema(responses={200: HeaderOutput})
    def put(self, request: Request, submission_id: UUID, role: str = "") -> Response:
        """Replace it."""
        planner = self._own(request, submission_id)
        entered = self.read(request)
        _check_role(role, planner=planner)
        try:
            secret_headers.replace(planner=planner, **entered, by=user_of(request), role=role)
        except FieldErrors as error:
            named = {field.removeprefix("header_"): texts for field, texts in error.errors.items()}
            raise FieldValidationError(named) from error
        kept = secret_headers.kept_header(Planner.objects.get(pk=planner.pk), role=role)
        assert kept is not None
        return Response(HeaderOutput({"name": kept.name, "ends_in": kept.ending}).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, submission_id: UUID, role: str = "") -> Response:
        """Forget it."""
        planner = self._own(request, submission_id)
        _check_role(role, planner=planner)
        if not secret_headers.take_away(planner=planner, by=user_of(request), role=role):
            raise NotFound("No secret header is kept for this planner.")
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _own(self, request: Request, submission_id: UUID) -> Planner:
        return get_object_or_404(Planner, submissions=submission_id, owner=request.user)


def _check_role(role: str, *, planner: Planner) -> None:
    if role and role not in planner.roles:
        there_are = f"it has {', '.join(planner.roles)}" if planner.roles else "it has none"
        raise NotFound(f"This planner has no role {role[:80]!r} with a model of its own; {there_are}.")


@extend_schema_view(
    put=extend_schema(operation_id="submissions_role_header_update"),
    delete=extend_schema(operation_id="submissions_role_header_destroy"),
)
class RoleHeaderView(HeaderView):
    """The secret header of the model of one role of a submission's planner, as of the planner itself."""
