"""Pages of users, teams and planners, and the form for one's profile."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from evaluator.scoring.metrics.undecided import ranged
from leaderboard.catalog.services import primary_metric
from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.visibility import visible_evaluations
from leaderboard.people.authentication import user_of
from leaderboard.people.profile import ProfileData, set_profile
from leaderboard.people.web.forms import ProfileForm
from leaderboard.people.web.profiles import services
from leaderboard.people.web.profiles.versions import histories_shown
from leaderboard.platform.problems import FieldErrors

PER_PAGE = 25


@require_safe
def user(request: HttpRequest, username: str) -> HttpResponse:
    """A user's profile, and their planners with the best published results."""
    found = get_object_or_404(services.people(username))
    if not found.is_active:
        # Boards permanently link here.
        return render(request, "people/profiles/closed.html", {"person": found})
    planners = services.planners_seen_by(request.user).filter(owner=found)
    results = services.board_results(lambda row: row["owner"] == found.username)
    context = {
        "person": found,
        "is_self": request.user.pk == found.pk,
        "teams": services.shown_teams_of(found, reader=request.user),
        "evaluations": visible_evaluations(request.user).filter(submission__submitted_by=found).count(),
        **_planners(request=request, planners=planners, results=results),
    }
    return render(request, "people/profiles/user.html", context)


@require_safe
def team(request: HttpRequest, slug: str) -> HttpResponse:
    """A team's public page, with the results published for it."""
    found = get_object_or_404(services.teams_seen_by(request.user), slug=slug)
    submitted = visible_evaluations(request.user).filter(submission__team=found)
    planners = services.planners_seen_by(request.user).filter(pk__in=submitted.values("submission__planner"))
    results = services.board_results(lambda row: row.get("team") == found.name)
    context = {
        "team": found,
        "is_member": found.memberships.filter(user=request.user.pk).exists(),
        "members": found.memberships.select_related("user").order_by("joined", "pk") if found.shows_members else None,
        "evaluations": submitted.count(),
        **_planners(request=request, planners=planners, results=results),
    }
    return render(request, "people/profiles/team.html", context)


@require_safe
def planner(request: HttpRequest, planner_id: int) -> HttpResponse:
    """A planner with its ranks, its versions by suite, and all evaluations that the reader can see, newest first."""
    found = get_object_or_404(services.planners_seen_by(request.user), pk=planner_id)
    evaluations = visible_evaluations(request.user).filter(submission__planner=found)
    related = evaluations.select_related("suite", "submission__team").order_by("-created", "-pk")
    paginator = Paginator(related, PER_PAGE)
    paginator.count = found.evaluations  # type: ignore[attr-defined]  # annotated, which saves a query
    page = paginator.get_page(request.GET.get("page"))
    context = {
        "planner": found,
        "is_owner": request.user.pk == found.owner_id,
        "results": services.board_results(lambda row: (row["owner"], row["planner"]) == _name(found)),
        "histories": histories_shown(found, reader=request.user),
        "page": page,
        "rows": [_row(evaluation) for evaluation in page.object_list],
    }
    return render(request, "people/profiles/planner.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def edit(request: HttpRequest) -> HttpResponse:
    """Edit one's profile."""
    fields = ("display_name", "affiliation", "link", "bio")
    initial = {field: getattr(request.user, field) for field in fields}
    form = ProfileForm(request.POST if request.method == "POST" else None, initial=initial)
    if form.is_valid():
        try:
            set_profile(user=user_of(request), data=ProfileData(**form.cleaned_data))
        except FieldErrors as problems:
            form.show(problems)
        else:
            messages.success(request, "Your profile is updated.")
            return redirect("profiles:user", username=request.user.username)
    return render(request, "people/profiles/edit.html", {"form": form}, status=400 if form.errors else 200)


def _planners(*, request: HttpRequest, planners: Any, results: list[services.BoardResult]) -> dict[str, Any]:
    """A page of planners of `planners_seen_by`, latest submission first, each with its rows on the boards."""
    page = Paginator(planners.order_by("-latest", "-pk"), PER_PAGE).get_page(request.GET.get("page"))
    by_name: dict[tuple[str, str], list[services.BoardResult]] = {}
    for result in results:
        by_name.setdefault((result.owner, result.planner), []).append(result)
    return {
        "page": page,
        "rows": [{"planner": planner, "results": by_name.get(_name(planner), [])} for planner in page.object_list],
    }


def _name(planner: Any) -> tuple[str, str]:
    return planner.owner.username, planner.name


def _row(evaluation: Evaluation) -> dict[str, Any]:
    """An evaluation with the value of its suite's primary metric."""
    metric = primary_metric(evaluation.suite)
    metrics = (evaluation.summary or {}).get("metrics") or {}
    return {
        "evaluation": evaluation,
        "metric": metric["label"],
        "value": ranged(metrics=metrics, column=evaluation.suite.ranking_column),
    }
