"""The page of a reliability profile, and its owner's actions."""

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
from leaderboard.evaluations.web.visibility_panel import for_readers_of
from leaderboard.people.authentication import user_of
from leaderboard.planners.kinds import kind_of
from leaderboard.quotas.services import QuotaExceededError
from leaderboard.reliability.models import Condition, ReliabilityProfile
from leaderboard.reliability.services import cancel_profile, missing_members, request_profile, why_not
from leaderboard.reliability.web.presenters import ended, figures_of, gaps_of, members_of
from leaderboard.submissions.readiness import report


@require_safe
def profile(request: HttpRequest, evaluation_id: UUID) -> HttpResponse:
    """The profile: dimensions, measures, plots and worst tasks; for the owner also a form to request it."""
    evaluation = _evaluation(request=request, evaluation_id=evaluation_id)
    acts = may_act(user=request.user, submission=evaluation.submission)
    profile: ReliabilityProfile | None = getattr(evaluation, "reliability", None)
    if profile is None and not acts:
        raise Http404("This evaluation has no reliability profile.")
    members = members_of(evaluation) if profile else []
    is_measuring = profile is not None and profile.measured_at is None
    missing, refused = list[Condition](), ""
    if acts and not is_measuring and not (refused := why_not(evaluation)):
        try:
            missing = missing_members(evaluation)
        except TryLaterError as error:
            refused = error.for_people
    context = {
        "evaluation": evaluation,
        "suite": evaluation.suite,
        "planner": evaluation.submission.planner,
        "profile": profile,
        "is_measuring": is_measuring,
        "members": members,
        "ended": ended(members),
        "gaps": gaps_of(profile) if profile else [],
        "figures": figures_of(profile, members=members) if profile else None,
        "acts": acts,
        "is_run_by_owner": hasattr(evaluation, "own_worker_run"),
        "is_agent": kind_of(evaluation.submission.planner).is_agent,
        "missing": missing,
        "refused": refused,
    }
    return for_readers_of(evaluation.submission, response=render(request, "reliability/profile.html", context))


@require_POST
@login_required
def measure(request: HttpRequest, evaluation_id: UUID) -> HttpResponse:
    """Request the missing runs of the profile."""
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
    """Cancel the unfinished runs."""
    evaluation = _actable(request=request, evaluation_id=evaluation_id)
    try:
        cancel_profile(evaluation, by=user_of(request))
    except NotPossibleError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, "The runs are cancelled. What had ended is measured.")
    return redirect("evaluations:reliability", evaluation_id=evaluation.pk)


def _evaluation(*, request: HttpRequest, evaluation_id: UUID) -> Evaluation:
    related = visible_runs(request.user).select_related(
        "suite",
        "submission__planner__owner",
        "submission__submitted_by",
        "submission__team",
        "reliability",
        "own_worker_run",
    )
    evaluation = get_object_or_404(related.annotate(in_team=reader_in_team(request.user)), pk=evaluation_id)
    in_team = evaluation.in_team  # type: ignore[attr-defined]  # annotated
    remember_reader(reader=request.user, submission=evaluation.submission, in_team=in_team)
    return evaluation


def _actable(*, request: HttpRequest, evaluation_id: UUID) -> Evaluation:
    evaluation = _evaluation(request=request, evaluation_id=evaluation_id)
    if not may_act(user=request.user, submission=evaluation.submission):
        raise PermissionDenied
    return evaluation
