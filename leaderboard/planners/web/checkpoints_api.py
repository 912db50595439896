"""The API about one's own uploaded checkpoints."""

from datetime import datetime, timedelta

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.people.scopes import Scope
from leaderboard.people.signed_in import user_of
from leaderboard.people.web.api.permissions import LOGGED_IN
from leaderboard.planners import checkpoints as services
from leaderboard.planners.models import CheckpointUpload
from leaderboard.platform.api.examples import DIGEST, WHEN, example
from leaderboard.platform.api.parsers import TooLargeError
from leaderboard.platform.api.shapes import Input
from leaderboard.platform.api.views import ApiView


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
        return Response(CheckpointOutput(services.uploads_of(user_of(request)), many=True).data)

    @extend_schema(responses={201: CheckpointOutput})
    def post(self, request: Request) -> Response:
        file = self.read(request)["file"]
        try:
            made = services.keep_upload(owner=user_of(request), file=file)
        except services.TooLargeError as error:
            raise TooLargeError(str(error)) from None
        return Response(CheckpointOutput(made).data, status=status.HTTP_201_CREATED)
