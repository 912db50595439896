"""Who may act on an evaluation, and how they are called towards its owner. Pages and API ask here and nowhere else."""

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q

from leaderboard.accounts.models import Membership, User
from leaderboard.accounts.teams import is_member
from leaderboard.evaluations.models import Submission


def may_act(*, user: User | AnonymousUser, submission: Submission) -> bool:
    """Whether the user may cancel, resume, accept and run again what was submitted, and read its log like the owner."""
    if user.pk is None:
        return False
    return user.pk == submission.submitted_by_id or is_member(user_id=user.pk, team_id=submission.team_id)


def acted_on_by(user: User, *, prefix: str = "") -> Q:
    """The same as a condition on submissions, or on what leads to them by `prefix`, such as `submission__`."""
    teams = Membership.objects.filter(user=user.pk).values("team")
    return Q(**{f"{prefix}submitted_by": user.pk}) | Q(**{f"{prefix}team__in": teams})


def in_words(*, by: User | None, submission: Submission) -> str:
    """Who did something, for the reason that stands on the evaluation's page."""
    if by is not None and by.pk == submission.submitted_by_id:
        return "its owner"
    if by is not None and is_member(user_id=by.pk, team_id=submission.team_id):
        return f"{by.username} of the team {submission.team.name}"
    return "an operator of this site"
