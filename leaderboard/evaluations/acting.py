"""Who may act on an evaluation, and how they are called towards its owner. Pages and API ask here and nowhere else."""

from django.contrib.auth.models import AnonymousUser

from leaderboard.accounts.models import User
from leaderboard.evaluations.models import Submission


def may_act(*, user: User | AnonymousUser, submission: Submission) -> bool:
    """Whether the user may cancel, resume, accept and run again what was submitted, and read its log like the owner."""
    return user.pk is not None and user.pk == submission.submitted_by_id


def in_words(*, by: User | None, submission: Submission) -> str:
    """Who did something, for the reason that stands on the evaluation's page."""
    if by is not None and by.pk == submission.submitted_by_id:
        return "its owner"
    return "an operator of this site"
