"""Artefacts that workers send, and checkpoints that they fetch.

Where the site keeps objects in a bucket, the operator's workers upload pictures to it directly. The site signs a
request for one digest, size and media type, so that the bucket refuses all other bytes. An uploaded object counts when
the site is asked for it next, and finds in the bucket that its SHA-256 was checked (`DurableS3Store.has`). Texts go
through the site, which looks for secrets in them once more, and so does everything that self-hosted workers send, which
is counted.
"""

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
from leaderboard.planners.checkpoints import checkpoint_store
from leaderboard.planners.models import Planner
from leaderboard.platform.api.parsers import TooLargeError
from leaderboard.queue.leasing import leases
from leaderboard.queue.web.worker_api.attempts import DONE, ENDED, AttemptView
from leaderboard.queue.web.worker_api.messages import answer, validated
from leaderboard.queue.workers import logs

_LEAST_BYTES = 16 * 1024
"""Smaller ones are faster in a bundle."""
_SECONDS = 900
"""For so long an offer holds."""


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
        wanted = {upload.digest: upload for upload in uploads if _may_go_directly(upload)}
        offered = []
        # What is there is never written again, so that nothing that anybody reads can change its media type.
        for digest in store.lacking(list(wanted)):
            size, media_type = wanted[digest].size, MediaType(wanted[digest].media_type)
            found = store.presigned_write(digest=digest, size=size, media_type=media_type, seconds=_SECONDS)
            offered.append(OfferedUpload(digest=digest, url=found.url, headers=dict(found.headers)))
        return tuple(offered)


def _may_go_directly(upload: Upload) -> bool:
    return upload.media_type in PICTURES and _LEAST_BYTES <= upload.size <= settings.MAX_OBJECT_BYTES


_NOT_CLEAN = "It holds a secret that its worker or this site knows; workers take these out before they send."
_START = OpenApiParameter("start", int, description="The first byte of the piece.")


class MissingObjectsView(AttemptView):
    """Says which artefacts are still to be sent."""

    @extend_schema(
        operation_id="worker_missing_objects", request=DigestsRequest, responses={200: DigestsMissing, **ENDED}
    )
    def post(self, request: Request, attempt_id: UUID) -> HttpResponse:
        digests = validated(DigestsRequest, request.data).digests
        leases.heartbeat(attempt_id)
        missing = tuple(self.store().lacking(list(dict.fromkeys(digests))))
        return answer(DigestsMissing(missing=missing, takes_uploads=takes_uploads(self)))


class BundleView(AttemptView):
    """Takes many artefacts in one body."""

    @extend_schema(
        operation_id="worker_bundle",
        request={bundles.CONTENT_TYPE: OpenApiTypes.BINARY},
        responses={200: BundleTaken, **ENDED},
    )
    def post(self, request: Request, attempt_id: UUID) -> HttpResponse:
        leases.heartbeat(attempt_id)
        if request.META.get("CONTENT_TYPE") != bundles.CONTENT_TYPE:
            raise FieldValidationError({"bundle": [f"Content-Type must be {bundles.CONTENT_TYPE}."]})
        data = request._request.read(bundles.MOST_BYTES + 1)
        if len(data) > bundles.MOST_BYTES:
            raise TooLargeError(f"A bundle has at most {bundles.MOST_BYTES} bytes.")
        try:
            frames = bundles.unpack(data)
        except bundles.BundleError as error:
            raise FieldValidationError({"bundle": [f"{error}."]}) from error
        redact = logs.redactor_of_attempt(attempt_id, credential=str(request.auth))
        problems = {frame.digest: problem for frame in frames if (problem := _problem(frame, redact=redact))}
        good = [frame for frame in frames if frame.digest not in problems]
        artefacts = [Artefact(data=frame.data, media_type=MediaType(frame.media_type)) for frame in good]
        self.keep(attempt_id=attempt_id, artefacts=artefacts)
        return answer(BundleTaken(kept=len(good), refused=problems))


def _problem(frame: bundles.Frame, *, redact: Redactor) -> str:
    """What is wrong with an artefact as a sentence; empty if nothing is."""
    if frame.media_type not in list(MediaType):
        return f"The media type must be one of: {', '.join(MediaType)}."
    if len(frame.data) > settings.MAX_OBJECT_BYTES:
        return f"An artefact has at most {settings.MAX_OBJECT_BYTES} bytes."
    if (actual := digest_of(frame.data)) != frame.digest:
        return f"The bytes have the SHA-256 {actual}."
    artefact = Artefact(data=frame.data, media_type=MediaType(frame.media_type))
    return _NOT_CLEAN if redact.in_artefact(artefact) is not artefact else ""


class ObjectView(AttemptView):
    """Takes one artefact."""

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
    """Gives the checkpoint of the attempt's planner, piece by piece: no answer is larger than memory has room for."""

    @extend_schema(
        operation_id="worker_checkpoint",
        parameters=[_START],
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY, **ENDED},
    )
    def get(self, request: Request, attempt_id: UUID, digest: str) -> HttpResponse:
        leases.heartbeat(attempt_id)
        of_attempt = Planner.objects.filter(
            submissions__evaluations__shards__attempts=attempt_id, checkpoint_digest=digest
        )
        if not of_attempt.exists():
            raise NotFound("This attempt's planner has no such checkpoint.")
        start = validated(CheckpointPosition, request.query_params.dict()).start
        piece = checkpoint_store().read(digest=digest, start=start, most=CHECKPOINT_PIECE_BYTES)
        if piece is None:
            raise NotFound("The store has lost this checkpoint.")
        return HttpResponse(piece, content_type="application/octet-stream")
