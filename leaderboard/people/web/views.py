"""The page of a user's API tokens."""

from functools import partial

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from leaderboard.people import services
from leaderboard.people.authentication import user_of
from leaderboard.people.web.forms import TokenForm, made_from


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def tokens(request: HttpRequest) -> HttpResponse:
    """List the tokens; a POST makes one and shows it this once, so the answer is the page itself and no redirect."""
    form, made = made_from(request, form=TokenForm, make=partial(services.create_token, user=user_of(request)))
    context = {"form": form, "made": made, "tokens": services.tokens_of(user_of(request))}
    return render(request, "people/tokens.html", context, status=400 if form.errors else 200)


@require_POST
@login_required
def revoke(request: HttpRequest, token_id: str) -> HttpResponse:
    """End a token. Doing it twice does no harm."""
    if services.revoke_token(user=user_of(request), token_id=token_id):
        messages.success(request, "The token is revoked. Requests with it are now refused.")
    return redirect("accounts:tokens")
