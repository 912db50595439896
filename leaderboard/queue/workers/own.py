"""Evaluations that researchers run on their own workers. They are marked, and not ranked: nobody has verified them."""

from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F

from leaderboard.catalog.conditions import HIDDEN_SPLIT
from leaderboard.evaluations.models import Submission
from leaderboard.queue.models import OwnWorkerRun
from leaderboard.site.field_errors import FieldErrors
from leaderboard.submissions import services


def submit_for_own_worker(valid: services.ValidSubmission) -> Submission:
    """Enter a planner for suites that only workers with a token of its submitter evaluate.

    Before: nothing.
    After: as `services.submit`, and every evaluation is marked.

    Raises:
        FieldErrors: data is hidden from its owner; nothing was changed.
    """
    with transaction.atomic():
        submission = services.submit(valid)
        mark(submission)
    return submission


def mark(submission: Submission) -> None:
    """Leave the evaluations of a new submission to workers of its submitter, within the present transaction.

    Raises:
        FieldErrors: data is hidden from the submitter; the transaction must be rolled back.
    """
    evaluations = list(submission.evaluations.select_related("suite"))
    if hidden := [one.suite.slug for one in evaluations if one.split == HIDDEN_SPLIT]:
        raise FieldErrors({"own_worker": [f"{hidden[0]} has hidden data here, which only our workers may see."]})
    OwnWorkerRun.objects.bulk_create(OwnWorkerRun(evaluation=evaluation) for evaluation in evaluations)


def runs_on_own_worker(evaluation_id: UUID) -> bool:
    """Whether the evaluation's owner runs it."""
    return OwnWorkerRun.objects.filter(evaluation=evaluation_id).exists()


class TooMuchUploadedError(Exception):
    """The worker has sent as much as it may for one evaluation; nothing was kept. The message is a sentence."""

    def __init__(self) -> None:
        most = settings.MAX_OWN_WORKER_BYTES
        super().__init__(f"Of one evaluation at most {most} bytes of new artefacts are taken from an own worker.")


def count_upload(*, attempt_id: UUID, size: int) -> None:
    """Count bytes that a researcher's own worker sends to be kept: it may send anything.

    Raises:
        TooMuchUploadedError: with these they would be too many.
    """
    run = OwnWorkerRun.objects.filter(evaluation__shards__attempts=attempt_id).values("pk")
    room = OwnWorkerRun.objects.filter(pk__in=run, uploaded_bytes__lte=settings.MAX_OWN_WORKER_BYTES - size)
    if size and not room.update(uploaded_bytes=F("uploaded_bytes") + size):
        raise TooMuchUploadedError
