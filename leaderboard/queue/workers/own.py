"""Evaluations on self-hosted workers, which are marked and not ranked until they are verified."""

from collections.abc import Sequence
from uuid import UUID

from django.conf import settings
from django.db.models import F

from leaderboard.queue.models import OwnWorkerRun


def runs_on_own_worker(evaluation_id: UUID) -> bool:
    """Whether the evaluation runs on a self-hosted worker."""
    return OwnWorkerRun.objects.filter(evaluation=evaluation_id).exists()


def own_among(evaluation_ids: Sequence[UUID]) -> frozenset[UUID]:
    """The evaluations among these that run on self-hosted workers."""
    return frozenset(OwnWorkerRun.objects.filter(pk__in=evaluation_ids).values_list("pk", flat=True))


class TooMuchUploadedError(Exception):
    """A worker has reached the upload limit of an evaluation; nothing was stored. The message is a sentence."""

    def __init__(self) -> None:
        most = settings.MAX_OWN_WORKER_BYTES
        super().__init__(f"A self-hosted worker may send at most {most} bytes of new artefacts per evaluation.")


def count_upload(*, attempt_id: UUID, size: int) -> None:
    """Count bytes that a self-hosted worker uploads.

    Raises:
        TooMuchUploadedError: they exceed the limit.
    """
    run = OwnWorkerRun.objects.filter(evaluation__shards__attempts=attempt_id).values("pk")
    room = OwnWorkerRun.objects.filter(pk__in=run, uploaded_bytes__lte=settings.MAX_OWN_WORKER_BYTES - size)
    if size and not room.update(uploaded_bytes=F("uploaded_bytes") + size):
        raise TooMuchUploadedError
