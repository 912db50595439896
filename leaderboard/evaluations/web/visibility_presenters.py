"""What a page says of who sees it, to those who may know."""

from datetime import datetime
from typing import NamedTuple

from django.db.models import Count, Func, JSONField, OuterRef, QuerySet, Subquery
from django.http import HttpResponse
from django.utils.cache import patch_cache_control

from leaderboard.boards.standing import Standing, standing_of
from leaderboard.evaluations.acting import may_act
from leaderboard.evaluations.models import Evaluation, Submission, Visibility
from leaderboard.evaluations.submitted import is_submitted, submitted
from leaderboard.evaluations.visibility import Reader, is_public, words_of
from leaderboard.submissions.web.visibility_form import ChangeVisibilityForm


class VisibilityPanel(NamedTuple):
    """Who sees an evaluation."""

    words: str
    """Such as `private`; empty: everybody."""
    readers: str
    until: datetime | None
    """When the embargo ends."""
    stays_public: bool
    suites: int
    """That were submitted together."""
    standing: Standing | None
    """Where it would stand, of what is not public."""
    form: ChangeVisibilityForm | None
    """For who may change it."""


def with_siblings(evaluations: QuerySet[Evaluation]) -> QuerySet[Evaluation]:
    """The same with `siblings`, in the query that reads them: of how many suites an evaluation's submission is, and how
    many of these evaluations were ever ranked. None where it was not submitted."""
    own = Evaluation.objects.filter(submitted(), submission=OuterRef("submission")).order_by().values("submission")
    packed = Func(Count("pk"), Count("first_ranked"), function="jsonb_build_array", output_field=JSONField())
    return evaluations.annotate(siblings=Subquery(own.annotate(siblings=packed).values("siblings")))


def visibility_panel(*, evaluation: Evaluation, reader: Reader) -> VisibilityPanel | None:
    """What this reader, who sees the evaluation, is told; None where there is nothing to say or change.

    Args:
        evaluation: read `with_siblings`.
    """
    submission = evaluation.submission
    public = is_public(submission)
    acts = may_act(user=reader, submission=submission) and is_submitted(evaluation)
    if public and not acts:
        return None
    suites, ranked = evaluation.siblings or (0, 0)  # type: ignore[attr-defined]  # annotated
    stays = acts and public and ranked > 0
    return VisibilityPanel(
        words="" if public else words_of(submission),
        readers=_readers(evaluation),
        until=None if public else submission.embargo_until,
        stays_public=stays,
        suites=suites,
        standing=None if public else standing_of(evaluation),
        form=_form(evaluation, public=public) if acts and not stays else None,
    )


def for_readers_of(submission: Submission, *, response: HttpResponse) -> HttpResponse:
    """The answer, which no browser or proxy keeps unless everybody may see it."""
    if submission.visibility != Visibility.PUBLIC:
        patch_cache_control(response, private=True, no_store=True)
    return response


def _readers(evaluation: Evaluation) -> str:
    team = evaluation.submission.team
    submitter = evaluation.submission.submitted_by.username
    return f"{submitter}, the team {team.name} and the operators" if team else f"{submitter} and the operators"


def _form(evaluation: Evaluation, *, public: bool) -> ChangeVisibilityForm:
    submission = evaluation.submission
    chosen = Visibility.PUBLIC if public else submission.visibility
    return ChangeVisibilityForm(
        initial={"visibility": chosen, "embargo_until": submission.embargo_until}, auto_id="visibility_%s"
    )
