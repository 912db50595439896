"""The page of what a regrade changed, and the operators' button."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from evaluator.scoring.changes import changes_between
from leaderboard.catalog.hidden_data import when_public
from leaderboard.catalog.library import RunConditions, TryLaterError
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.evaluations.results.graded import graded
from leaderboard.evaluations.visibility import NotPossibleError, Reader, may_see, visible_runs, withholds_tasks
from leaderboard.evaluations.web.visibility_panel import for_readers_of
from leaderboard.people.authentication import user_of
from leaderboard.platform.operators import is_operator
from leaderboard.submissions.readiness import report
from leaderboard.submissions.regrading import differences, regrade

CHANGES_PER_PAGE = 100


def read_regrade(evaluation_id: UUID, *, reader: Reader) -> tuple[Evaluation, Evaluation]:
    """A regrade and its original, if the reader sees both.

    Raises:
        Http404: there is none.
    """
    related = (
        "suite",
        "season",
        "submission__planner",
        "submission__rerun_of__suite",
        "submission__rerun_of__submission",
    )
    regrades = visible_runs(reader).filter(submission__is_regrade=True).select_related(*related)
    again = get_object_or_404(regrades, pk=evaluation_id)
    original = again.submission.rerun_of
    if original is None or not may_see(reader=reader, submission=original.submission):
        raise Http404("There is no such evaluation.")
    return again, original


@require_safe
def changes(request: HttpRequest, evaluation_id: UUID) -> HttpResponse:
    """What a regrade changed: conditions, means, and the tasks that score otherwise."""
    again, original = read_regrade(evaluation_id, reader=request.user)
    is_done = again.state == EvaluationState.COMPLETED
    withheld = any(withholds_tasks(reader=request.user, of=one) for one in (again, original))
    found = (
        changes_between(before=graded(original), after=graded(again), columns=again.suite.columns) if is_done else None
    )
    context = {
        "evaluation": again,
        "original": original,
        "suite": again.suite,
        "planner": again.submission.planner,
        "conditions": differences(before=original, suite=again.suite, after=RunConditions.of(again)),
        "metrics": [
            {"label": column.label, "before": _mean(original, column.key), "after": _mean(again, column.key)}
            for column in again.suite.shown_columns
        ]
        if is_done
        else [],
        "changes": found,
        "tasks_withheld": when_public(again) if withheld else "",
        "page": Paginator(found.tasks, CHANGES_PER_PAGE).get_page(request.GET.get("page"))
        if found and not withheld
        else None,
    }
    return for_readers_of(again.submission, response=render(request, "submissions/changes.html", context))


def _mean(evaluation: Evaluation, key: str) -> float | None:
    value = (evaluation.summary or {}).get("metrics", {}).get(key)
    return None if value is None else value["mean"]


@require_POST
@login_required
def regrade_now(request: HttpRequest, evaluation_id: UUID) -> HttpResponse:
    """Have the plans of an evaluation scored under today's rules, and show the new evaluation."""
    evaluation = get_object_or_404(visible_runs(request.user), pk=evaluation_id)
    if not is_operator(request.user):
        raise PermissionDenied
    try:
        evaluation = regrade(evaluation, by=user_of(request))
    except NotPossibleError as error:
        messages.error(request, str(error))
    except TryLaterError as error:
        report(error)
        messages.error(request, error.sentence)
    else:
        messages.success(request, "Its plans are scored again. This page follows the new evaluation.")
    return redirect("evaluations:detail", evaluation_id=evaluation.pk)
