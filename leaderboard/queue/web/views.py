"""Pages of workers: logs of evaluations, and worker tokens."""

from functools import partial
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.visibility import visible_runs
from leaderboard.evaluations.web.gathering import MOVING
from leaderboard.people.authentication import user_of
from leaderboard.people.web.forms import ServiceForm, made_from
from leaderboard.queue.web.presenters import shown_attempt
from leaderboard.queue.workers import logs
from leaderboard.queue.workers.tokens import create_worker_token, revoke_worker_token, worker_tokens_of


class WorkerTokenForm(ServiceForm):
    """A new token."""

    name = forms.CharField(label="Name", help_text="For example, the worker's machine.")


ATTEMPTS_PER_PAGE = 20
_STOP_POLLING = 286
"""htmx's status code that ends polling."""


@require_safe
@never_cache
def log(request: HttpRequest, evaluation_id: UUID) -> HttpResponse:
    """The log of each attempt."""
    evaluation = _readable(request=request, evaluation_id=evaluation_id)
    page = Paginator(logs.attempts_of(evaluation), ATTEMPTS_PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "evaluation": evaluation,
        "suite": evaluation.suite,
        "planner": evaluation.submission.planner,
        "is_moving": evaluation.state in MOVING,
        "page": page,
        "attempts": [shown_attempt(attempt) for attempt in page.object_list],
    }
    return render(request, "queue/log.html", context)


@require_safe
@never_cache
def log_tail(request: HttpRequest, evaluation_id: UUID) -> HttpResponse:
    """The last lines, which the evaluation's page polls while the evaluation runs."""
    evaluation = _readable(request=request, evaluation_id=evaluation_id)
    status = 200 if evaluation.state in MOVING else _STOP_POLLING
    return render(request, "queue/lines.html", {"lines": logs.tail(evaluation)}, status=status)


def _readable(*, request: HttpRequest, evaluation_id: UUID) -> Evaluation:
    related = visible_runs(request.user).select_related("suite", "submission__planner")
    evaluation = get_object_or_404(related, pk=evaluation_id)
    if not logs.may_read(user=request.user, evaluation=evaluation):
        raise Http404("Page not found.")
    return evaluation


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def tokens(request: HttpRequest) -> HttpResponse:
    """List the tokens. A POST creates one and shows it once, so it is not followed by a redirect."""
    form, made = made_from(request, form=WorkerTokenForm, make=partial(create_worker_token, owner=user_of(request)))
    context = {
        "form": form,
        "made": made,
        "tokens": worker_tokens_of(user_of(request)),
        "site": request.build_absolute_uri("/").rstrip("/"),
    }
    return render(request, "queue/tokens.html", context, status=400 if form.errors else 200)


@require_POST
@login_required
def revoke(request: HttpRequest, token_id: UUID) -> HttpResponse:
    """Revoke a token. Idempotent."""
    if revoke_worker_token(owner=user_of(request), token_id=token_id):
        messages.success(request, "The token is revoked. Tasks leased with it can be leased again.")
    return redirect("workers:tokens")
