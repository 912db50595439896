"""Who sees it is changed while it is being published: whichever comes first, no snapshot holds what is private."""

import itertools
from contextlib import suppress

import pytest

from leaderboard.boards.models import Snapshot
from leaderboard.evaluations.acting import NotPossibleError
from leaderboard.evaluations.models import Evaluation, EvaluationState, Submission, Visibility
from leaderboard.queue.publishing import publish_ready
from leaderboard.submissions.releasing import release_due, set_visibility
from tests.leaderboard.factories import make_evaluation, make_submission, make_suite
from tests.leaderboard.threads import in_threads

pytestmark = pytest.mark.django_db(transaction=True)
SUMMARY = {"metrics": {"overall": {"mean": 0.5, "low": 0.4, "high": 0.6, "tasks": 4}}, "outcomes": {"scored": 4}}


def ready() -> Evaluation:
    """An evaluation whose scores are computed, and which nobody has published yet."""
    evaluation = make_evaluation()
    Evaluation.objects.filter(pk=evaluation.pk).update(state=EvaluationState.AGGREGATING, summary=SUMMARY)
    return Evaluation.objects.select_related("suite", "submission").get(pk=evaluation.pk)


@pytest.mark.parametrize("_", range(4))
def test_what_becomes_private_while_it_is_published_is_either_on_the_board_or_private(_):
    evaluation = ready()
    turns = itertools.count()

    def publish_or_withdraw() -> None:
        if next(turns):
            with suppress(NotPossibleError):
                set_visibility(evaluation.submission, visibility="private")
        else:
            publish_ready(evaluation)

    assert not in_threads(publish_or_withdraw, count=2)
    # A publisher that met the lock left; the sweep comes again.
    publish_ready(evaluation)
    submission = Submission.objects.get(pk=evaluation.submission_id)
    ranked = [row["evaluation"] for snapshot in Snapshot.objects.all() for row in snapshot.content["rows"]]
    assert (str(evaluation.pk) in ranked) == (submission.visibility == Visibility.PUBLIC)


def test_an_embargo_that_several_end_at_once_ends_once():
    submission = make_submission(suite=make_suite())
    Evaluation.objects.filter(submission=submission).update(state=EvaluationState.AGGREGATING, summary=SUMMARY)
    Submission.objects.filter(pk=submission.pk).update(visibility="embargo", embargo_until="2026-01-01T00:00Z")
    publish_ready(submission.evaluations.select_related("suite").get())
    released = []
    assert not in_threads(lambda: released.append(release_due()), count=4)
    assert sum(released) == 1
    assert Snapshot.objects.count() == 1
