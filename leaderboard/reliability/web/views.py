"""The page of a reliability profile, and what the owner of its evaluation does there."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from leaderboard.catalog.library import TryLaterError
from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.visibility import (
    NotPossibleError,
    may_act,
    reader_in_team,
    remember_reader,
    visible_runs,
)
from leaderboard.evaluations.web.presenters import for_readers_of
from leaderboard.people.authentication import user_of
from leaderboard.planners.kinds import kind_of
from leaderboard.quotas.services import QuotaExceededError
from leaderboard.reliability.members import Condition
from leaderboard.reliability.models import ReliabilityProfile
from leaderboard.reliability.services import cancel_profile, missing_members, request_profile, why_not
from leaderboard.reliability.web.presenters import ended, figures_of, gaps_of, members_of
from leaderboard.submissions.readiness import report


@require_safe
def profile(request: HttpRequest, evaluation_id: UUID) -> HttpResponse:
    """The profile: dimensions, measures, plots and worst tasks; for the owner also how to have it measured."""
    evaluation = _evaluation(request=request, evaluation_id=evaluation_id)
    acts = may_act(user=request.user, submission=evaluation.submission)
    found: ReliabilityProfile | None = getattr(evaluation, "reliability", None)
    if found is None and not acts:
        raise Http404("This evaluation has no reliability profile.")
    members = members_of(evaluation) if found else []
    is_measuring = found is not None and found.measured_at is None
    context = {
        "evaluation": evaluation,
        "suite": evaluation.suite,
        "planner": evaluation.submission.planner,
        "profile": found,
        "is_measuring": is_measuring,
        "members": members,
        "ended": ended(members),
        "gaps": gaps_of(found) if found else [],
        "figures": figures_of(found, members=members) if found else None,
        "acts": acts,
        "is_run_by_owner": hasattr(evaluation, "own_worker_run"),
        "is_agent": kind_of(evaluation.submission.planner).is_agent,
        **_offer(evaluation=evaluation, acts=acts and not is_measuring),
    }
    return for_readers_of(evaluation.submission, response=render(request, "reliability/profile.html", context))


@require_POST
@login_required
def measure(request: HttpRequest, evaluation_id: UUID) -> HttpResponse:
    """Have the profile measured, or what it lacks."""
    evaluation = _actable(request=request, evaluation_id=evaluation_id)
    try:
        request_profile(evaluation, by=user_of(request))
    except (NotPossibleError, QuotaExceededError) as error:
        messages.error(request, str(error))
    except TryLaterError as error:
        report(error)
        messages.error(request, error.for_people)
    else:
        messages.success(request, "The runs are queued. This page follows them.")
    return redirect("evaluations:reliability", evaluation_id=evaluation.pk)


@require_POST
@login_required
def cancel(request: HttpRequest, evaluation_id: UUID) -> HttpResponse:
    """Cancel the runs that are under way."""
    evaluation = _actable(request=request, evaluation_id=evaluation_id)
    try:
        cancel_profile(evaluation, by=user_of(request))
    except NotPossibleError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, "The runs are cancelled. What had ended is measured.")
    return redirect("evaluations:reliability", evaluation_id=evaluation.pk)


def _offer(*, evaluation: Evaluation, acts: bool) -> dict[str, object]:
    """What the owner may ask for now: the runs that are missing, or why none can be asked for."""
    if not acts:
        return {"missing": [], "refused": ""}
    if refused := why_not(evaluation):
        return {"missing": [], "refused": refused}
    try:
        missing: list[Condition] = missing_members(evaluation)
    except TryLaterError as error:
        return {"missing": [], "refused": error.for_people}
    return {"missing": missing, "refused": ""}


def _evaluation(*, request: HttpRequest, evaluation_id: UUID) -> Evaluation:
    related = visible_runs(request.user).select_related(
        "suite",
        "submission__planner__owner",
        "submission__submitted_by",
        "submission__team",
        "reliability",
        "own_worker_run",
    )
    found = get_object_or_404(related.annotate(in_team=reader_in_team(request.user)), pk=evaluation_id)
    remember_reader(reader=request.user, submission=found.submission, in_team=found.in_team)  # type: ignore[attr-defined]  # annotated above
    return found


def _actable(*, request: HttpRequest, evaluation_id: UUID) -> Evaluation:
    evaluation = _evaluation(request=request, evaluation_id=evaluation_id)
    if not may_act(user=request.user, submission=evaluation.submission):
        raise PermissionDenied
    return evaluation
