"""Who may act on an evaluation, and how they are called towards its owner. Pages and API ask here and nowhere else."""

from django.contrib.auth.models import AnonymousUser
from django.db.models import Exists, OuterRef, Q

from leaderboard.evaluations.models import Submission
from leaderboard.people.models import Membership, User
from leaderboard.people.teams import is_member
from leaderboard.platform.problems import ProblemError

_READER_IN_TEAM = "_reader_in_team"


class NotPossibleError(ProblemError):
    """The evaluation's state does not allow this now; nothing was changed. The message is a sentence for its owner."""

    code = "not_possible"


def may_act(*, user: User | AnonymousUser, submission: Submission) -> bool:
    """Whether the user may cancel, resume, accept and run again what was submitted, and read its log like the owner."""
    if user.pk is None or user.pk == submission.submitted_by_id:
        return user.pk is not None
    reader, is_in_team = getattr(submission, _READER_IN_TEAM, (None, False))
    return is_in_team if reader == user.pk else is_member(user_id=user.pk, team_id=submission.team_id)


def reader_in_team(reader: User | AnonymousUser) -> Exists:
    """Whether the reader is in the team that an evaluation is for, read with the evaluation: see `remember_reader`."""
    return Exists(Membership.objects.filter(team=OuterRef("submission__team"), user=reader.pk))


def remember_reader(*, reader: User | AnonymousUser, submission: Submission, in_team: bool) -> None:
    """Note for the rest of a request what was read with its evaluation: a page asks `may_act` for each of its parts."""
    setattr(submission, _READER_IN_TEAM, (reader.pk, in_team))


def acted_on_by(user: User, *, prefix: str = "") -> Q:
    """The same as a condition on submissions, or on what leads to them by `prefix`, such as `submission__`."""
    teams = Membership.objects.filter(user=user.pk).values("team")
    return Q(**{f"{prefix}submitted_by": user.pk}) | Q(**{f"{prefix}team__in": teams})


def in_words(*, by: User | None, submission: Submission) -> str:
    """Who did something, for the reason that stands on the evaluation's page."""
    if by is not None and by.pk == submission.submitted_by_id:
        return "its owner"
    team = submission.team
    if by is not None and team is not None and is_member(user_id=by.pk, team_id=team.pk):
        return f"{by.username} of the team {team.name}"
    return "an operator of this site"
