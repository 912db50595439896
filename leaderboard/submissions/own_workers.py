"""Submissions that researchers evaluate on their own workers."""

from django.db import transaction

from evaluator.core.suites.hidden import HIDDEN
from leaderboard.evaluations.models import Submission
from leaderboard.platform.field_errors import FieldErrors
from leaderboard.queue.models import OwnWorkerRun
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
    if hidden := [one.suite.slug for one in evaluations if one.split == HIDDEN]:
        raise FieldErrors(
            {"own_worker": [f"{hidden[0]} has hidden data on this site, which only the site's workers may see."]}
        )
    OwnWorkerRun.objects.bulk_create(OwnWorkerRun(evaluation=evaluation) for evaluation in evaluations)
