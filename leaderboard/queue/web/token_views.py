"""The page of a user's worker tokens."""

from functools import partial
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from leaderboard.people.signed_in import user_of
from leaderboard.people.web.once import made_from
from leaderboard.queue.web.forms import WorkerTokenForm
from leaderboard.queue.workers.tokens import create_worker_token, revoke_worker_token, worker_tokens_of


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def tokens(request: HttpRequest) -> HttpResponse:
    """List the tokens; a POST makes one and shows it this once, so the answer is the page itself and no redirect."""
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
    """End a token. Doing it twice does no harm."""
    if revoke_worker_token(owner=user_of(request), token_id=token_id):
        messages.success(request, "The token is revoked. Tasks leased with it can be leased again.")
    return redirect("workers:tokens")
