"""Who sees a submission and everything that came of it. Every page, list and call that shows any of it asks here.

What is not public now is seen by who may act on it (`may_act`) and by staff. For everybody else it does not exist:
its addresses answer 404, as those of things that never were, and no list, board, feed or count holds it.

An embargo ends by itself: with its date it is public for every query below, whether or not a process has noticed.
`releasing.py` then publishes it on the boards.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.contrib.auth.models import AnonymousUser
from django.db.models import Case, Count, Exists, F, OuterRef, Prefetch, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce, Now
from django.utils import timezone

from leaderboard.evaluations.models import Evaluation, EvaluationState, Submission, TaskResult, Visibility
from leaderboard.evaluations.states import NEVER_RAN
from leaderboard.people.models import Membership, User
from leaderboard.people.teams import is_member
from leaderboard.platform.database import database_now
from leaderboard.platform.operators import is_operator
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


OF_EVALUATION = "submission__"
"""What leads from an evaluation to its submission."""
LONGEST_EMBARGO = timedelta(days=366)
Reader = User | AnonymousUser


def public_now(*, prefix: str = "") -> Q:
    """Condition on submissions, or on what leads to them by `prefix`: everybody sees them."""
    over = Q(**{f"{prefix}visibility": Visibility.EMBARGO, f"{prefix}embargo_until__lte": Now()})
    return Q(**{f"{prefix}visibility": Visibility.PUBLIC}) | over


def visible_to(reader: Reader, *, prefix: str = "") -> Q:
    """Condition on submissions, or on what leads to them by `prefix`: this reader sees them."""
    if is_operator(reader):
        return Q()
    public = public_now(prefix=prefix)
    return public if reader.pk is None else public | acted_on_by(reader, prefix=prefix)


def visible_evaluations(reader: Reader) -> QuerySet[Evaluation]:
    """The submitted evaluations that this reader sees: for lists."""
    return Evaluation.objects.filter(visible_to(reader, prefix=OF_EVALUATION))


def visible_runs(reader: Reader) -> QuerySet[Evaluation]:
    """The same with verifications and members of reliability profiles: for what is named by its id."""
    return Evaluation.runs.filter(visible_to(reader, prefix=OF_EVALUATION))


def on_boards() -> Q:
    """Condition on evaluations: boards, feeds, plots and comparisons with others may hold them."""
    return public_now(prefix=OF_EVALUATION) & Q(hidden_at=None)


def is_public(submission: Submission) -> bool:
    """Whether everybody sees it now."""
    if submission.visibility != Visibility.EMBARGO:
        return submission.visibility == Visibility.PUBLIC
    return submission.embargo_until is not None and submission.embargo_until <= database_now()


def words_of(submission: Submission) -> str:
    """How it is marked for those who see it: `private`, `embargo until ...`, or nothing where everybody does."""
    if submission.visibility == Visibility.PRIVATE:
        return "private"
    until = submission.embargo_until
    if submission.visibility != Visibility.EMBARGO or until is None or until <= timezone.now():
        return ""
    return f"embargo until {until:%Y-%m-%d %H:%M} UTC"


def may_see(*, reader: Reader, submission: Submission) -> bool:
    """`visible_to` for a submission that was read already."""
    return is_operator(reader) or is_public(submission) or may_act(user=reader, submission=submission)


def check(*, visibility: str, embargo_until: datetime | None) -> Mapping[str, list[str]]:
    """What is wrong with a choice, by field; empty if nothing is."""
    if visibility not in Visibility.values:
        return {"visibility": [f"Choose one of {', '.join(Visibility.values)}."]}
    if visibility != Visibility.EMBARGO:
        told = "Only an embargo has an end: leave this empty, or choose an embargo."
        return {} if embargo_until is None else {"embargo_until": [told]}
    now = timezone.now()
    if embargo_until is None:
        return {"embargo_until": ["Enter the end of the embargo."]}
    if embargo_until <= now:
        return {"embargo_until": ["The embargo must end in the future."]}
    if embargo_until > now + LONGEST_EMBARGO:
        latest = (now + LONGEST_EMBARGO).strftime("%Y-%m-%d")
        return {"embargo_until": [f"An embargo lasts at most a year: choose a day until {latest}."]}
    return {}


NEWEST_FIRST = ("-created", "-id")
"""The order of lists."""


def evaluations_for(reader: Reader) -> QuerySet[Evaluation]:
    """The submitted evaluations that the reader sees, newest first, as the API shows them."""
    return _shown(visible_evaluations(reader), reader=reader)


def runs_for(reader: Reader) -> QuerySet[Evaluation]:
    """The same with verifications and members of reliability profiles."""
    return _shown(visible_runs(reader), reader=reader)


def _shown(visible: QuerySet[Evaluation], *, reader: Reader) -> QuerySet[Evaluation]:
    related = visible.select_related(
        "suite",
        "submission__planner__owner",
        "submission__planner__secret",
        "submission__submitted_by",
        "submission__team",
        "own_worker_run",
    )
    reruns = Prefetch("reruns", Submission.objects.filter(visible_to(reader)))
    shown = related.prefetch_related(reruns).annotate(
        done=done_count(), shown_rerun_of=rerun_of(reader=reader, prefix="submission__")
    )
    return shown.order_by(*NEWEST_FIRST)


def rerun_of(*, reader: Reader, prefix: str = "") -> Subquery:
    """The evaluation that was run again, if the reader sees it.

    Args:
        reader: who reads.
        prefix: of the submission, from the rows of the query.
    """
    return Subquery(visible_runs(reader).filter(pk=OuterRef(f"{prefix}rerun_of")).values("pk"))


def done_count() -> Case:
    """How many tasks have ended. Of completed evaluations all have, so that only a page's others are counted."""
    ended = TaskResult.objects.filter(evaluation=OuterRef("pk")).exclude(NEVER_RAN)
    results = ended.order_by().values("evaluation")
    counted = Coalesce(Subquery(results.annotate(rows=Count("pk")).values("rows")), Value(0))
    return Case(When(state=EvaluationState.COMPLETED, then=F("tasks_total")), default=counted)
