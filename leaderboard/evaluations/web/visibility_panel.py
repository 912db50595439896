"""Who sees an evaluation, for its page."""

from datetime import datetime
from typing import NamedTuple

from django.db.models import Count, Func, JSONField, OuterRef, QuerySet, Subquery
from django.http import HttpResponse
from django.utils.cache import patch_cache_control

from leaderboard.boards.standing import Standing, standing_of
from leaderboard.evaluations.models import Evaluation, Submission, Visibility
from leaderboard.evaluations.visibility import Reader, is_public, may_act, words_of
from leaderboard.submissions.web.forms import ChangeVisibilityForm


class VisibilityPanel(NamedTuple):
    """Who sees an evaluation."""

    words: str
    """The visibility, such as `private`; empty if it is public."""
    readers: str
    until: datetime | None
    """End of the embargo."""
    stays_public: bool
    suites: int
    """Number of suites of the submission."""
    standing: Standing | None
    """The rank that it would have, unless it is public."""
    form: ChangeVisibilityForm | None
    """None for readers who may not change it."""


def with_siblings(evaluations: QuerySet[Evaluation]) -> QuerySet[Evaluation]:
    """Annotate evaluations with `siblings`: how many evaluations the submission has, and how many of them were ever
    ranked. None for an evaluation that was not submitted."""
    own = Evaluation.objects.filter(submission=OuterRef("submission")).order_by().values("submission")
    packed = Func(Count("pk"), Count("first_ranked"), function="jsonb_build_array", output_field=JSONField())
    return evaluations.annotate(siblings=Subquery(own.annotate(siblings=packed).values("siblings")))


def visibility_panel(*, evaluation: Evaluation, reader: Reader) -> VisibilityPanel | None:
    """The panel for a reader who sees the evaluation; None if there is nothing to say or change.

    Args:
        evaluation: read `with_siblings`.
    """
    submission = evaluation.submission
    public = is_public(submission)
    acts = may_act(user=reader, submission=submission) and evaluation.is_submitted
    if public and not acts:
        return None
    suites, ranked = evaluation.siblings or (0, 0)  # type: ignore[attr-defined]  # annotated
    stays = acts and public and ranked > 0
    team, submitter = submission.team, submission.submitted_by.username
    chosen = Visibility.PUBLIC if public else submission.visibility
    form = ChangeVisibilityForm(
        initial={"visibility": chosen, "embargo_until": submission.embargo_until}, auto_id="visibility_%s"
    )
    return VisibilityPanel(
        words="" if public else words_of(submission),
        readers=f"{submitter}, the team {team.name} and the operators" if team else f"{submitter} and the operators",
        until=None if public else submission.embargo_until,
        stays_public=stays,
        suites=suites,
        standing=None if public else standing_of(evaluation),
        form=form if acts and not stays else None,
    )


def for_readers_of(submission: Submission, *, response: HttpResponse) -> HttpResponse:
    """Prevent caching unless the submission is public."""
    if submission.visibility != Visibility.PUBLIC:
        patch_cache_control(response, private=True, no_store=True)
    return response
