"""The page for exporting data and for closing or deleting an account."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from leaderboard.operations.leaving import closing
from leaderboard.operations.leaving.closing import problem_with
from leaderboard.operations.leaving.export import export_response
from leaderboard.people.authentication import user_of
from leaderboard.people.credentials import credentials_of
from leaderboard.people.models import User
from leaderboard.people.teams import heirs_of
from leaderboard.platform.api.throttling import seconds_to_wait


class ConfirmForm(forms.Form):
    """Confirmation by the owner of the account."""

    entered = forms.CharField(strip=False)

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["entered"]
        if user.has_usable_password():
            field.label = "Your password"
            field.widget = forms.PasswordInput(attrs={"autocomplete": "current-password"})
        else:
            field.label = f"Your user name, {user.username}"
            field.widget = forms.TextInput(attrs={"autocomplete": "off"})


@never_cache
@require_safe
@login_required
def account(request: HttpRequest) -> HttpResponse:
    """The account's credentials and teams, and the forms for leaving."""
    return _page(request)


@never_cache
@require_safe
@login_required
def export(request: HttpRequest) -> HttpResponseBase:
    """All data of the user as a download."""
    if wait := seconds_to_wait(request, scope="exports"):
        refused = render(request, "429.html", status=429)
        refused.headers["Retry-After"] = str(wait)
        return refused
    return export_response(request=request, user=user_of(request))


@sensitive_post_parameters("close-entered")
@require_POST
@login_required
def close(request: HttpRequest) -> HttpResponse:
    """Close the account after confirmation."""
    form = _confirmed(request, prefix="close")
    if form.errors:
        return _page(request, close=form)
    user = user_of(request)
    closing.close_account(user=user, by=user)
    logout(request)
    messages.success(request, "Your account is closed. The operator of this site can reopen it on request.")
    return redirect("boards:home")


@sensitive_post_parameters("delete-entered")
@require_POST
@login_required
def delete(request: HttpRequest) -> HttpResponse:
    """Delete the account after confirmation."""
    form = _confirmed(request, prefix="delete")
    if form.errors:
        return _page(request, delete=form)
    user = user_of(request)
    closing.delete_account(user=user, by=user)
    logout(request)
    messages.success(request, "Your account is deleted. Your name leaves the boards within a few minutes.")
    return redirect("boards:home")


def _confirmed(request: HttpRequest, *, prefix: str) -> ConfirmForm:
    form = ConfirmForm(request.POST, user=user_of(request), prefix=prefix)
    if form.is_valid():
        problem = problem_with(request=request, user=user_of(request), entered=form.cleaned_data["entered"])
        if problem:
            form.add_error("entered", problem)
    return form


def _page(request: HttpRequest, *, close: ConfirmForm | None = None, delete: ConfirmForm | None = None) -> HttpResponse:
    user = user_of(request)
    context = {
        "credentials": credentials_of(user),
        "owned": [{"team": team, "heir": heir} for team, heir in heirs_of(user)],
        "close": close or ConfirmForm(user=user, prefix="close"),
        "delete": delete or ConfirmForm(user=user, prefix="delete"),
    }
    return render(request, "people/account.html", context, status=400 if close or delete else 200)
