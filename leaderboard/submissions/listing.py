"""A user's submissions with the scores of their evaluations, and what can be done with each."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from django.db.models import Prefetch, QuerySet

from evaluator.scoring.metrics.undecided import ranged
from leaderboard.evaluations.acting import acted_on_by
from leaderboard.evaluations.models import Evaluation, Submission
from leaderboard.evaluations.reading import done_count
from leaderboard.evaluations.submitted import submitted
from leaderboard.people.models import User
from leaderboard.submissions.actions import Action, allowed_actions


class ListedEvaluation(NamedTuple):
    """An evaluation of a submission."""

    evaluation: Evaluation
    metric: str
    """Label of the column that its suite ranks by."""
    value: Mapping[str, Any] | None
    """Its value there; None: it has none yet."""
    actions: tuple[Action, ...]


class ListedSubmission(NamedTuple):
    """A submission with its evaluations, of which there is at least one."""

    submission: Submission
    evaluations: tuple[ListedEvaluation, ...]


def submissions_of(user: User) -> QuerySet[Submission]:
    """The user's own submissions and those of their teams, newest first."""
    entered = Evaluation.objects.filter(submitted()).annotate(done=done_count())
    own = Submission.objects.filter(acted_on_by(user)).select_related("planner__secret", "submitted_by", "team")
    evaluations = Prefetch("evaluations", entered.select_related("suite").order_by("created"))
    return own.prefetch_related(evaluations).order_by("-created")


def listed(submission: Submission) -> ListedSubmission:
    """The row of a submission that came from `submissions_of`."""
    return ListedSubmission(submission, tuple(map(_listed, submission.evaluations.all())))


def _listed(evaluation: Evaluation) -> ListedEvaluation:
    column = evaluation.suite.ranking_column
    measured = (evaluation.summary or {}).get("metrics") or {}
    value = ranged(metrics=measured, column=column)
    return ListedEvaluation(evaluation, column.label, value, allowed_actions(evaluation))
