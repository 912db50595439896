"""Evaluations that researchers run on their own workers. They are marked, and not ranked: nobody has verified them."""

from collections.abc import Sequence
from uuid import UUID

from django.conf import settings
from django.db.models import F

from leaderboard.queue.models import OwnWorkerRun


def runs_on_own_worker(evaluation_id: UUID) -> bool:
    """Whether the evaluation's owner runs it."""
    return OwnWorkerRun.objects.filter(evaluation=evaluation_id).exists()


def own_among(evaluation_ids: Sequence[UUID]) -> frozenset[UUID]:
    """Those of these evaluations that their owners run."""
    return frozenset(OwnWorkerRun.objects.filter(pk__in=evaluation_ids).values_list("pk", flat=True))


class TooMuchUploadedError(Exception):
    """The worker has sent as much as it may for one evaluation; nothing was kept. The message is a sentence."""

    def __init__(self) -> None:
        most = settings.MAX_OWN_WORKER_BYTES
        super().__init__(f"A self-hosted worker may send at most {most} bytes of new artefacts per evaluation.")


def count_upload(*, attempt_id: UUID, size: int) -> None:
    """Count bytes that a researcher's own worker sends to be kept: it may send anything.

    Raises:
        TooMuchUploadedError: with these they would be too many.
    """
    run = OwnWorkerRun.objects.filter(evaluation__shards__attempts=attempt_id).values("pk")
    room = OwnWorkerRun.objects.filter(pk__in=run, uploaded_bytes__lte=settings.MAX_OWN_WORKER_BYTES - size)
    if size and not room.update(uploaded_bytes=F("uploaded_bytes") + size):
        raise TooMuchUploadedError
