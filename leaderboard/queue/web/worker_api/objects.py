"""Artefacts that workers upload, and checkpoints that they download.

If the site stores objects in a bucket, operators' workers upload pictures to it directly. The site signs a request for
one digest, size and media type, so that the bucket refuses all other bytes. An upload is recognised at the next call,
which finds in the bucket that the SHA-256 was checked (`DurableS3Store.has`). Texts go through the site, which scans
them for secrets once more, and so does everything that self-hosted workers send, whose size is counted.
"""

from functools import partial
from uuid import UUID

from django.conf import settings
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.exceptions import NotFound
from rest_framework.exceptions import ValidationError as FieldValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from evaluator.core.values import PICTURES, Artefact, MediaType
from evaluator.execution.engine.store import digest_of
from gpu_jobs import bundles
from gpu_jobs.contract import (
    CHECKPOINT_PIECE_BYTES,
    BundleTaken,
    CheckpointPosition,
    DigestsMissing,
    DigestsRequest,
    OfferedUpload,
    Upload,
    UploadsOffered,
    UploadsRequest,
)
from gpu_jobs.redaction import Redactor
from leaderboard.planners.checkpoints import checkpoint_store, uses_checkpoint
from leaderboard.planners.models import Planner
from leaderboard.platform.api.parsers import TooLargeError
from leaderboard.queue.leasing import leases
from leaderboard.queue.web.worker_api.attempts import DONE, ENDED, AttemptView
from leaderboard.queue.web.worker_api.messages import answer, validated
from leaderboard.queue.web.worker_api.received_bundles import received_artefacts
from leaderboard.queue.workers import logs

_LEAST_BYTES = 16 * 1024
"""Smaller artefacts are faster in a bundle."""
_SECONDS = 900
"""Validity of an offer."""


def takes_uploads(view: AttemptView) -> bool:
    """Whether the caller may upload directly."""
    return bool(settings.STORE_URL) and not view.is_own


class UploadsView(AttemptView):
    """Offers direct uploads of artefacts."""

    @extend_schema(operation_id="worker_uploads", request=UploadsRequest, responses={200: UploadsOffered, **ENDED})
    def post(self, request: Request, attempt_id: UUID) -> HttpResponse:
        uploads = validated(UploadsRequest, request.data).uploads
        leases.heartbeat(attempt_id)
        return answer(UploadsOffered(offered=self._offered(uploads)), headers={"Cache-Control": "no-store"})

    def _offered(self, uploads: tuple[Upload, ...]) -> tuple[OfferedUpload, ...]:
        if not takes_uploads(self):
            return ()
        from evaluator.execution.engine.s3.durable import DurableS3Store

        store = self.store()
        if not isinstance(store, DurableS3Store):
            return ()
        direct = {
            upload.digest: upload
            for upload in uploads
            if upload.media_type in PICTURES and _LEAST_BYTES <= upload.size <= settings.MAX_OBJECT_BYTES
        }
        offered = []
        # Existing objects are never overwritten, so that a published object cannot change its media type.
        for digest in store.lacking(list(direct)):
            size, media_type = direct[digest].size, MediaType(direct[digest].media_type)
            signed = store.presigned_write(digest=digest, size=size, media_type=media_type, seconds=_SECONDS)
            offered.append(OfferedUpload(digest=digest, url=signed.url, headers=dict(signed.headers)))
        return tuple(offered)


_NOT_CLEAN = "It contains a secret that its worker or this site knows; workers remove secrets before they upload."
_START = OpenApiParameter("start", int, description="The first byte of the piece.")


class MissingObjectsView(AttemptView):
    """Lists the artefacts that the site does not have."""

    @extend_schema(
        operation_id="worker_missing_objects", request=DigestsRequest, responses={200: DigestsMissing, **ENDED}
    )
    def post(self, request: Request, attempt_id: UUID) -> HttpResponse:
        digests = validated(DigestsRequest, request.data).digests
        leases.heartbeat(attempt_id)
        missing = tuple(self.store().lacking(list(dict.fromkeys(digests))))
        return answer(DigestsMissing(missing=missing, takes_uploads=takes_uploads(self)))


class BundleView(AttemptView):
    """Stores many artefacts of one body."""

    @extend_schema(
        operation_id="worker_bundle",
        request={bundles.CONTENT_TYPE: OpenApiTypes.BINARY},
        responses={200: BundleTaken, **ENDED},
    )
    def post(self, request: Request, attempt_id: UUID) -> HttpResponse:
        leases.heartbeat(attempt_id)
        redact = logs.redactor_of_attempt(attempt_id, credential=str(request.auth))
        artefacts, problems = received_artefacts(request, refused=partial(_unclean, redact=redact))
        self.keep(attempt_id=attempt_id, artefacts=artefacts)
        return answer(BundleTaken(kept=len(artefacts), refused=problems))


def _unclean(artefact: Artefact, *, redact: Redactor) -> str:
    return _NOT_CLEAN if redact.in_artefact(artefact) is not artefact else ""


class ObjectView(AttemptView):
    """Stores one artefact."""

    @extend_schema(
        operation_id="worker_object",
        request={media_type.value: OpenApiTypes.BINARY for media_type in MediaType},
        responses={204: DONE, **ENDED},
    )
    def put(self, request: Request, attempt_id: UUID, digest: str) -> Response:
        leases.heartbeat(attempt_id)
        try:
            media_type = MediaType(request.META.get("CONTENT_TYPE", ""))
        except ValueError:
            known = ", ".join(MediaType)
            raise FieldValidationError({"media_type": [f"Content-Type must be one of: {known}."]}) from None
        data = request._request.read(settings.MAX_OBJECT_BYTES + 1)
        if len(data) > settings.MAX_OBJECT_BYTES:
            raise TooLargeError(f"An artefact has at most {settings.MAX_OBJECT_BYTES} bytes.")
        if (actual := digest_of(data)) != digest:
            raise FieldValidationError({"digest": [f"The bytes have the SHA-256 {actual}."]})
        artefact = Artefact(data=data, media_type=media_type)
        if logs.redactor_of_attempt(attempt_id, credential=str(request.auth)).in_artefact(artefact) is not artefact:
            raise FieldValidationError({"artefact": [_NOT_CLEAN]})
        self.keep(attempt_id=attempt_id, artefacts=[artefact])
        return Response(status=status.HTTP_204_NO_CONTENT)


class CheckpointView(AttemptView):
    """Returns a piece of the checkpoint of the attempt's planner: pieces bound the memory of a response."""

    @extend_schema(
        operation_id="worker_checkpoint",
        parameters=[_START],
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY, **ENDED},
    )
    def get(self, request: Request, attempt_id: UUID, digest: str) -> HttpResponse:
        leases.heartbeat(attempt_id)
        of_attempt = Planner.objects.filter(
            uses_checkpoint(digest), submissions__evaluations__shards__attempts=attempt_id
        )
        if not of_attempt.exists():
            raise NotFound("This attempt's planner has no such checkpoint.")
        start = validated(CheckpointPosition, request.query_params.dict()).start
        piece = checkpoint_store().read(digest=digest, start=start, most=CHECKPOINT_PIECE_BYTES)
        if piece is None:
            raise NotFound("The store has lost this checkpoint.")
        return HttpResponse(piece, content_type="application/octet-stream")
