"""Visibility of submissions and their evaluations. Every page, list and API call that shows them uses these conditions.

Submissions that are not public are visible to users who may act on them (`may_act`) and to staff. For all others they
do not exist: URLs answer 404, and lists, boards, feeds and counts leave them out.

An embargo ends by itself: from its date on, every condition below treats the submission as public. `releasing.py` then
publishes it on the boards.

Parts of visible evaluations may be withheld (`Withheld`). Gold plans of a hidden split are for operators only, because
they would invalidate the scores of planners trained on them. A suite has the same gold plans on each split, so they are
withheld on the public split, too, while the site evaluates the hidden one.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.contrib.auth.models import AnonymousUser
from django.db.models import Case, Count, Exists, F, OuterRef, Prefetch, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce, Now
from django.http import HttpResponseBase
from django.utils import timezone
from django.utils.cache import patch_cache_control

from evaluator.core.suites.base import Panel
from evaluator.core.suites.hidden import HIDDEN
from evaluator.planners.bundled import KNOW_GOLD
from leaderboard.catalog.hidden_data import TasksWithheldError, are_public, public_data, when_public
from leaderboard.catalog.library import split_of
from leaderboard.catalog.models import RELATED_CONDITIONS, MeasuringConditions, Suite
from leaderboard.evaluations.models import Evaluation, EvaluationState, Submission, TaskResult, Visibility
from leaderboard.evaluations.states import NEVER_RAN
from leaderboard.evaluations.withheld import Withheld
from leaderboard.people.models import Membership, User
from leaderboard.people.teams import is_member
from leaderboard.planners.models import Planner
from leaderboard.platform.database import database_now
from leaderboard.platform.operators import is_operator
from leaderboard.platform.problems import ProblemError

_READER_IN_TEAM = "_reader_in_team"


class NotPossibleError(ProblemError):
    """The evaluation's state does not allow this action; nothing was changed. The message is for its owner."""

    code = "not_possible"


def may_act(*, user: User | AnonymousUser, submission: Submission) -> bool:
    """Whether the user may cancel, resume, accept and rerun the submission's evaluations and read their logs."""
    if user.pk is None or user.pk == submission.submitted_by_id:
        return user.pk is not None
    reader, is_in_team = getattr(submission, _READER_IN_TEAM, (None, False))
    return is_in_team if reader == user.pk else is_member(user_id=user.pk, team_id=submission.team_id)


def reader_in_team(reader: User | AnonymousUser) -> Exists:
    """Whether the reader is in the team of an evaluation, as an annotation for `remember_reader`."""
    return Exists(Membership.objects.filter(team=OuterRef("submission__team"), user=reader.pk))


def remember_reader(*, reader: User | AnonymousUser, submission: Submission, in_team: bool) -> None:
    """Cache the reader's membership for the rest of the request, because each part of a page calls `may_act`."""
    setattr(submission, _READER_IN_TEAM, (reader.pk, in_team))


def acted_on_by(user: User, *, prefix: str = "") -> Q:
    """`may_act` as a condition on submissions, or on rows that `prefix`, such as `submission__`, links to them."""
    teams = Membership.objects.filter(user=user.pk).values("team")
    return Q(**{f"{prefix}submitted_by": user.pk}) | Q(**{f"{prefix}team__in": teams})


def in_words(*, by: User | None, submission: Submission) -> str:
    """The actor of an action, for the reason on the evaluation's page."""
    if by is not None and by.pk == submission.submitted_by_id:
        return "its owner"
    team = submission.team
    if by is not None and team is not None and is_member(user_id=by.pk, team_id=team.pk):
        return f"{by.username} of the team {team.name}"
    return "an operator of this site"


OF_EVALUATION = "submission__"
"""Prefix from an evaluation to its submission."""
LONGEST_EMBARGO = timedelta(days=366)
Reader = User | AnonymousUser


def public_now(*, prefix: str = "") -> Q:
    """Condition that everybody sees a submission; `prefix` as in `acted_on_by`."""
    over = Q(**{f"{prefix}visibility": Visibility.EMBARGO, f"{prefix}embargo_until__lte": Now()})
    return Q(**{f"{prefix}visibility": Visibility.PUBLIC}) | over


def visible_to(reader: Reader, *, prefix: str = "") -> Q:
    """Condition that this reader sees a submission; `prefix` as in `acted_on_by`."""
    if is_operator(reader):
        return Q()
    public = public_now(prefix=prefix)
    return public if reader.pk is None else public | acted_on_by(reader, prefix=prefix)


def visible_evaluations(reader: Reader) -> QuerySet[Evaluation]:
    """The submitted evaluations that this reader sees, for lists."""
    return Evaluation.objects.filter(visible_to(reader, prefix=OF_EVALUATION))


def visible_runs(reader: Reader) -> QuerySet[Evaluation]:
    """The same with verifications and members of reliability profiles, for lookups by id."""
    return Evaluation.runs.filter(visible_to(reader, prefix=OF_EVALUATION))


def on_boards() -> Q:
    """Condition that boards, feeds, plots and comparisons may contain an evaluation."""
    return public_now(prefix=OF_EVALUATION) & Q(hidden_at=None)


def is_public(submission: Submission) -> bool:
    """Whether everybody sees the submission now."""
    if submission.visibility != Visibility.EMBARGO:
        return submission.visibility == Visibility.PUBLIC
    return submission.embargo_until is not None and submission.embargo_until <= database_now()


def words_of(submission: Submission) -> str:
    """The label of a submission: `private`, `embargo until ...`, or empty if it is public."""
    if submission.visibility == Visibility.PRIVATE:
        return "private"
    until = submission.embargo_until
    if submission.visibility != Visibility.EMBARGO or until is None or until <= timezone.now():
        return ""
    return f"embargo until {until:%Y-%m-%d %H:%M} UTC"


def may_see(*, reader: Reader, submission: Submission) -> bool:
    """`visible_to` for a loaded submission."""
    return is_operator(reader) or is_public(submission) or may_act(user=reader, submission=submission)


def check(*, visibility: str, embargo_until: datetime | None) -> Mapping[str, list[str]]:
    """Validate a choice of visibility; returns errors by field."""
    if visibility not in Visibility.values:
        return {"visibility": [f"Choose one of {', '.join(Visibility.values)}."]}
    if visibility != Visibility.EMBARGO:
        error = "Only an embargo has an end: leave this empty, or choose an embargo."
        return {} if embargo_until is None else {"embargo_until": [error]}
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
    """The submitted evaluations that the reader sees, newest first, with the related rows of the API."""
    return _with_related(visible_evaluations(reader), reader=reader)


def runs_for(reader: Reader) -> QuerySet[Evaluation]:
    """The same with verifications and members of reliability profiles."""
    return _with_related(visible_runs(reader), reader=reader)


def _with_related(visible: QuerySet[Evaluation], *, reader: Reader) -> QuerySet[Evaluation]:
    related = visible.select_related(
        "suite",
        "submission__planner__owner",
        "submission__planner__secret",
        "submission__submitted_by",
        "submission__team",
        "own_worker_run",
    )
    reruns = Prefetch("reruns", Submission.objects.filter(visible_to(reader)))
    annotated = related.prefetch_related(reruns).annotate(
        done=done_count(), shown_rerun_of=rerun_of(reader=reader, prefix="submission__")
    )
    return annotated.order_by(*NEWEST_FIRST)


def rerun_of(*, reader: Reader, prefix: str = "") -> Subquery:
    """The evaluation that a submission reran, if the reader sees it; `prefix` as in `acted_on_by`."""
    return Subquery(visible_runs(reader).filter(pk=OuterRef(f"{prefix}rerun_of")).values("pk"))


def done_count() -> Case:
    """The number of ended tasks. Only those of evaluations that have not completed are counted."""
    ended = TaskResult.objects.filter(evaluation=OuterRef("pk")).exclude(NEVER_RAN)
    results = ended.order_by().values("evaluation")
    counted = Coalesce(Subquery(results.annotate(rows=Count("pk")).values("rows")), Value(0))
    return Case(When(state=EvaluationState.COMPLETED, then=F("tasks_total")), default=counted)


RELATED = ("suite", RELATED_CONDITIONS, "submission__planner")
"""Relations of an evaluation that these rules read, for `select_related`."""


def sees_gold(*, reader: Reader | None, suite: Suite, split: str = "") -> bool:
    """Whether a reader may see the gold plans of a suite.

    Args:
        reader: None for content that is cached for all readers.
        split: of the evaluation, if the gold plans are shown with one.
    """
    if HIDDEN not in {split, split_of(suite)}:
        return True
    return reader is not None and is_operator(reader)


def withheld_from(*, reader: Reader | None, evaluation: Evaluation) -> Withheld:
    """The parts of an evaluation that this reader may not see."""
    if sees_gold(reader=reader, suite=evaluation.suite, split=evaluation.split):
        return Withheld()
    hidden = evaluation.split == HIDDEN
    tasks = withholds_tasks(reader=reader, of=evaluation)
    names_things = hidden and (evaluation.suite.has(Panel.GOAL) or evaluation.suite.has(Panel.GRIDS))
    plan = names_things or answers_with_gold(evaluation.submission.planner)
    return Withheld(data=hidden, gold=True, plan=plan, tasks=tasks)


def withholds_tasks(*, reader: Reader | None, of: MeasuringConditions) -> bool:
    """Whether results of single tasks are withheld from a reader: on a hidden split until its data are public, except
    for operators. Every view of a single task calls this or `check_tasks`.

    Args:
        reader: None for content that is cached for all readers.
        of: the evaluation, or the snapshot of a board.
    """
    if of.split != HIDDEN or are_public(of):
        return False
    return reader is None or not is_operator(reader)


def check_tasks(*, reader: Reader | None, of: MeasuringConditions) -> None:
    """Refuse access to single tasks.

    Raises:
        TasksWithheldError: they are withheld from this reader.
    """
    if withholds_tasks(reader=reader, of=of):
        raise TasksWithheldError(when_public(of))


def shows_parts(*, reader: Reader | None, of: Evaluation) -> bool:
    """Whether a reader sees means, causes and groups of an evaluation besides those of its summary. Until it completes,
    they reveal single tasks, because they cover few tasks or change with each task; so do those of further runs."""
    is_whole = of.state == EvaluationState.COMPLETED and not of.is_further_run
    return is_whole or not withholds_tasks(reader=reader, of=of)


def records_are_open(evaluation: Evaluation) -> bool:
    """Whether everybody may read the records of a hidden evaluation, because its data are public. Gold plans are the
    same in later hidden data and stay withheld."""
    return are_public(evaluation) and not answers_with_gold(evaluation.submission.planner)


def is_open_record(digest: str) -> bool:
    """Whether an object of the hidden store is the record of a public evaluation whose records are open."""
    public = public_now(prefix="evaluation__submission__") & public_data("evaluation__")
    results = TaskResult.objects.filter(public, record_digest=digest)
    results = results.select_related(f"evaluation__{RELATED_CONDITIONS}", "evaluation__submission__planner")
    return any(records_are_open(result.evaluation) for result in results)


def answers_with_gold(planner: Planner) -> bool:
    """Whether a planner's plans reveal the gold plans."""
    return planner.bundled_name in KNOW_GOLD


def is_gold_record(digest: str) -> bool:
    """Whether an object of the public store is the record of a withheld gold plan."""
    evaluations = Evaluation.runs.filter(
        results__record_digest=digest, submission__planner__bundled_name__in=KNOW_GOLD
    ).select_related("suite")
    return any(
        not sees_gold(reader=None, suite=evaluation.suite, split=evaluation.split)
        for evaluation in evaluations.iterator()
    )


def not_shared(response: HttpResponseBase, *, suite: Suite, split: str = "") -> None:
    """Prevent caching of a response that differs for operators."""
    if not sees_gold(reader=None, suite=suite, split=split):
        patch_cache_control(response, private=True, no_store=True)
