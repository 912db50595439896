"""Pages on which planners are entered and found again."""

import logging

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Prefetch
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from leaderboard.accounts.teams import teams_of
from leaderboard.evaluations import services
from leaderboard.evaluations.acting import acted_on_by
from leaderboard.evaluations.library import NotReadyError
from leaderboard.evaluations.models import Evaluation, Submission
from leaderboard.evaluations.waiting import queue_now
from leaderboard.field_errors import FieldErrors
from leaderboard.planners.forms import SubmitForm
from leaderboard.quotas.services import QuotaExceededError, quotas_of, quotas_of_teams
from leaderboard.workers.own import submit_for_own_worker

logger = logging.getLogger(__name__)

SUBMISSIONS_PER_PAGE = 25


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def submit(request: HttpRequest) -> HttpResponse:
    """Enter a planner; what is wrong stands beside its field, with status 400. If the site cannot evaluate at present,
    the form says so, with status 503; if the user's quota is used up, with 429."""
    status = 200
    teams = list(teams_of(request.user))
    form = SubmitForm(request.POST if request.method == "POST" else None, teams=teams)
    if form.is_valid():
        enter = submit_for_own_worker if form.cleaned_data["own_worker"] else services.submit
        try:
            submission = enter(user=request.user, data=form.data_entered())
        except FieldErrors as problems:
            form.show(problems)
        except NotReadyError as error:
            logger.error("%s", error)
            form.add_error(None, error.for_people)
            status = 503
        except QuotaExceededError as error:
            form.add_error(None, str(error))
            status = 429
        else:
            messages.success(request, "Submitted. This page follows the evaluation.")
            first = submission.evaluations.filter(verifies=None).order_by("created").values_list("pk", flat=True)[0]
            return redirect("evaluations:detail", evaluation_id=first)
    if form.errors and status == 200:
        status = 400
    suites = [slug for slug, _ in form.fields["suites"].choices]
    context = {
        "form": form,
        "quotas": quotas_of(user=request.user, suites=suites),
        "team_quotas": [(team, quotas_of_teams(teams=[team], suites=suites)) for team in teams],
        "queue": queue_now(),
    }
    return render(request, "planners/submit.html", context, status=status)


@require_safe
@login_required
def submissions(request: HttpRequest) -> HttpResponse:
    """The reader's own submissions and those of their teams, the newest first."""
    submitted = Evaluation.objects.filter(verifies=None)
    own = (
        Submission.objects.filter(acted_on_by(request.user))
        .select_related("planner", "submitted_by", "team")
        .prefetch_related(Prefetch("evaluations", submitted.select_related("suite").order_by("created")))
        .order_by("-created")
    )
    page = Paginator(own, SUBMISSIONS_PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "planners/submissions.html", {"page": page})
