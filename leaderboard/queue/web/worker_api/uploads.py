"""Direct uploads: where the site keeps objects in a bucket, workers of the operator's send pictures to it themselves.

The site signs a request for one digest, size and media type, so that the bucket refuses all other bytes. An uploaded
object counts when the site is asked for it next, and finds in the bucket that its SHA-256 was checked
(`DurableS3Store.has`). Texts go through the site, which looks for secrets in them once more, and so does everything
that self-hosted workers send: it is counted, and they may send anything.
"""

from uuid import UUID

from django.conf import settings
from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from evaluator.core.values import PICTURES, MediaType
from gpu_jobs.contract import OfferedUpload, Upload, UploadsOffered, UploadsRequest
from leaderboard.queue.leasing import leases
from leaderboard.queue.web.worker_api.attempts import ENDED, AttemptView
from leaderboard.queue.web.worker_api.messages import answer, validated

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
