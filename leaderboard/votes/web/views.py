"""Pages of votes: ask two planners, vote, see the names; the table."""

from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from leaderboard.catalog.models import Suite
from leaderboard.people.authentication import user_of
from leaderboard.people.models import User
from leaderboard.planners.models import Planner
from leaderboard.platform.http.addresses import address_of
from leaderboard.platform.http.downloads import streamed
from leaderboard.platform.problems import FieldErrors, ProblemError
from leaderboard.votes import services
from leaderboard.votes.models import Pair, Vote
from leaderboard.votes.services import NewPair
from leaderboard.votes.standings import Question, exported, standings_of
from leaderboard.votes.web.presenters import pair_page, questions_of, table_page
from leaderboard.workbench import asking
from leaderboard.workbench.asking import TooManyRunsError
from leaderboard.workbench.web.views import prepared, prepared_file, uploaded_files

_RECENT = 10
_QUESTIONS = {Question.RESPONSE: "Better response", Question.PLAN: "Better plan"}


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def ask(request: HttpRequest) -> HttpResponse:
    """The form of a pair. Errors have status 400; 429 for too many runs."""
    if request.method != "POST":
        return _form(request)
    chosen = next((one for one in prepared() if one.key == request.POST.get("prepared", "")), None)
    new = NewPair(
        text=request.POST.get("text", "") if chosen is None else chosen.text,
        suite=request.POST.get("suite", ""),
        files=uploaded_files(request) if chosen is None else [prepared_file(chosen)],
    )
    try:
        started = services.start(new, user=user_of(request))
    except FieldErrors as error:
        return _form(request, errors=[text for texts in error.errors.values() for text in texts], status=400)
    except TooManyRunsError as error:
        return _form(request, errors=[str(error)], status=429)
    return redirect("votes:pair", pair_id=started.pk)


def _form(request: HttpRequest, *, errors: list[str] | None = None, status: int = 200) -> HttpResponse:
    own = Pair.objects.filter(owner=user_of(request)).select_related("run_a").order_by("-created")[:_RECENT]
    context = {
        "suites": asking.suites(), "suite": request.POST.get("suite", ""), "prepared": prepared(), "errors": errors,
        "text": request.POST.get("text", "")[: asking.LONGEST_REQUEST], "recent": own,
    }  # fmt: skip
    return render(request, "votes/ask.html", context, status=status)


def pairs() -> Any:
    """Pairs with what their pages show."""
    return Pair.objects.select_related("a__planner__owner", "b__planner__owner", "run_a", "run_b")


@never_cache
@require_safe
def pair(request: HttpRequest, pair_id: UUID) -> HttpResponse:
    """One pair, for everybody who knows its address; without names until its owner has voted."""
    return _pair(request, pair_id=pair_id)


def _pair(request: HttpRequest, *, pair_id: UUID, error: str = "", status: int = 200) -> HttpResponse:
    found = get_object_or_404(pairs(), pk=pair_id)
    services.note_readers(found)
    is_own = found.owner_id == request.user.pk
    if is_own:
        services.note_shown(found)
    page = pair_page(found)
    context = {"page": page, "is_own": is_own, "questions": questions_of(page.vote), "error": error}
    return render(request, "votes/pair.html", context, status=status)


def _own(request: HttpRequest, *, pair_id: UUID) -> tuple[Pair, User]:
    user = user_of(request)
    return get_object_or_404(Pair, pk=pair_id, owner=user), user


@login_required
@require_POST
def vote(request: HttpRequest, pair_id: UUID) -> HttpResponse:
    """Vote on one's own pair, or change the vote."""
    found, user = _own(request, pair_id=pair_id)
    try:
        services.cast(
            pair_id=found.pk, user=user, response=request.POST.get("response", ""), plan=request.POST.get("plan", ""),
            address=address_of(request),
        )  # fmt: skip
    except FieldErrors as error:
        text = " ".join(text for texts in error.errors.values() for text in texts)
        return _pair(request, pair_id=pair_id, error=text, status=400)
    except ProblemError as error:
        return _pair(request, pair_id=pair_id, error=error.sentence, status=error.status)
    return redirect("votes:pair", pair_id=pair_id)


@login_required
@require_POST
def names(request: HttpRequest, pair_id: UUID) -> HttpResponse:
    """Show the names of one's own pair, after which the vote counts and cannot be changed."""
    found, user = _own(request, pair_id=pair_id)
    try:
        services.show_names(pair_id=found.pk, user=user)
    except ProblemError as error:
        return _pair(request, pair_id=pair_id, error=error.sentence, status=error.status)
    return redirect("votes:pair", pair_id=pair_id)


@login_required
@require_POST
def withdraw(request: HttpRequest, pair_id: UUID) -> HttpResponse:
    """Delete one's vote."""
    found, user = _own(request, pair_id=pair_id)
    services.withdraw(pair_id=found.pk, user=user)
    return redirect("votes:pair", pair_id=pair_id)


@never_cache
@require_safe
def table(request: HttpRequest) -> HttpResponse:
    """The table of one suite and question; unknown values select the first."""
    suites = asking.suites()
    suite = next((one for one in suites if one.slug == request.GET.get("suite")), suites[0] if suites else None)
    asked = request.GET.get("question", "")
    question = Question(asked) if asked in set(Question) else Question.RESPONSE
    user = request.user if isinstance(request.user, User) else None
    context: dict[str, Any] = {
        "suites": suites, "suite": suite, "question": question, "questions": _QUESTIONS.items(),
        "own": [] if user is None else _own_planners(user),
        "has_votes": user is not None and Vote.objects.filter(voter=user).exists(),
        "table": None if suite is None else table_page(standings_of(suite=suite, question=question)),
    }  # fmt: skip
    return render(request, "votes/table.html", context)


def _own_planners(user: User) -> list[tuple[Planner, bool]]:
    """A user's planners, and whether each takes part in votes."""
    rows = Planner.objects.filter(owner=user, bundled_name="").select_related("contestant").order_by("name")[:100]
    return [(row, getattr(row, "contestant", None) is None or row.contestant.opted_out_at is None) for row in rows]


@login_required
@require_POST
def opt_out(request: HttpRequest, planner_id: int) -> HttpResponse:
    """Take one's planner out of votes, or let it take part again."""
    planner = get_object_or_404(Planner, pk=planner_id, owner=user_of(request), bundled_name="")
    services.set_opted_out(planner=planner, opted_out=request.POST.get("takes_part") != "yes")
    return redirect("votes:table")


@require_safe
def export(request: HttpRequest, suite: str) -> HttpResponseBase:
    """All votes of a suite as lines of JSON, without names of voters."""
    return export_of(request, slug=suite)


def export_of(request: HttpRequest, *, slug: str) -> HttpResponseBase:
    """The export of a suite that executes plans; 404 for others."""
    if not Suite.objects.filter(slug=slug, current=True).exists():
        raise Http404
    parts = (line.encode() for line in exported(slug))
    return streamed(
        request=request, parts=parts, content_type="application/jsonl", filename=f"planarena-votes-{slug}.jsonl"
    )
