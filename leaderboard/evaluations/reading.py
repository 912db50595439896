"""Evaluations as the API shows them, with what their rows need."""

from django.db.models import Case, Count, F, OuterRef, Prefetch, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce

from leaderboard.evaluations.models import Evaluation, EvaluationState, Submission, TaskResult
from leaderboard.evaluations.unfinished import NEVER_RAN
from leaderboard.evaluations.visibility import Reader, visible_evaluations, visible_to

NEWEST_FIRST = ("-created", "-id")
"""The order of lists."""


def evaluations_for(reader: Reader) -> QuerySet[Evaluation]:
    """The evaluations that the reader may see."""
    related = visible_evaluations(reader).select_related(
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
    return Subquery(visible_evaluations(reader).filter(pk=OuterRef(f"{prefix}rerun_of")).values("pk"))


def done_count() -> Case:
    """How many tasks have ended. Of completed evaluations all have, so that only a page's others are counted."""
    ended = TaskResult.objects.filter(evaluation=OuterRef("pk")).exclude(NEVER_RAN)
    results = ended.order_by().values("evaluation")
    counted = Coalesce(Subquery(results.annotate(rows=Count("pk")).values("rows")), Value(0))
    return Case(When(state=EvaluationState.COMPLETED, then=F("tasks_total")), default=counted)
