"""Pages of a user's API tokens and teams."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Q
from django.forms.models import model_to_dict
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from leaderboard.people import teams as services
from leaderboard.people.authentication import user_of
from leaderboard.people.models import Team, User
from leaderboard.people.profile import TeamProfileData, set_team_profile
from leaderboard.people.services import create_token, revoke_token, tokens_of
from leaderboard.people.web.forms import InviteForm, TeamForm, TeamProfileForm, TokenForm, made_from
from leaderboard.people.web.profiles.views import team as public_team
from leaderboard.people.web.token_lines import lines_for
from leaderboard.platform.problems import FieldErrors


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def teams(request: HttpRequest) -> HttpResponse:
    """One's teams and invitations; a POST creates a team."""
    form, made = made_from(request, form=TeamForm, make=partial(services.create_team, owner=user_of(request)))
    if made is not None:
        messages.success(request, f"The team {made.name} is created. Invite its members below.")
        return redirect("accounts:team", slug=made.slug)
    context = {
        "form": form,
        "teams": services.teams_of(user_of(request)).prefetch_related("memberships__user"),
        "invitations": services.invitations_of(user_of(request)),
    }
    return render(request, "people/teams.html", context, status=400 if form.errors else 200)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def team(request: HttpRequest, slug: str) -> HttpResponse:
    """The members of a team, for its members; a POST invites a user. Others see its public page, if any, as do members
    with `?public=1`."""
    is_inside = services.teams_of(request.user).filter(slug=slug).exists() if request.user.pk else False
    if not is_inside or "public" in request.GET:
        return public_team(request, slug)
    found = _of_member(request=request, slug=slug)
    form = InviteForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            services.invite(team=found, username=form.cleaned_data["username"], by=user_of(request))
        except FieldErrors as problems:
            form.show(problems)
        except services.NotAllowedError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, f"{form.cleaned_data['username']} is invited.")
            return redirect("accounts:team", slug=slug)
    context = {
        "form": form,
        "team": found,
        "is_owner": services.owns(user=user_of(request), team=found),
        "members": found.memberships.select_related("user").order_by("joined", "pk"),
        "invitations": found.invitations.select_related("user").order_by("created", "pk"),
        "about": TeamProfileForm(initial=model_to_dict(found, TeamProfileForm.base_fields)),
    }
    return render(request, "people/team.html", context, status=400 if form.errors else 200)


@require_POST
@login_required
def describe(request: HttpRequest, slug: str) -> HttpResponse:
    """Edit the team's public page, as its owner."""
    found = _of_member(request=request, slug=slug)
    form = TeamProfileForm(request.POST)
    problems: Mapping[str, Iterable[object]] = form.errors
    try:
        if form.is_valid():
            set_team_profile(team=found, data=TeamProfileData(**form.cleaned_data), by=user_of(request))
            messages.success(request, "The team's public page is updated.")
    except FieldErrors as error:
        problems = error.errors
    except services.NotAllowedError as error:
        messages.error(request, str(error))
    for field, texts in problems.items():
        messages.error(request, f"{form.fields[field].label}: nothing was changed. {' '.join(map(str, texts))}")
    return redirect("accounts:team", slug=slug)


@require_POST
@login_required
def accept(request: HttpRequest, slug: str) -> HttpResponse:
    """Accept an invitation."""
    found = get_object_or_404(Team, slug=slug)
    if not services.accept_invitation(team=found, user=user_of(request)):
        raise Http404("You are not invited.")
    messages.success(request, f"You are in the team {found.name}.")
    return redirect("accounts:team", slug=slug)


@require_POST
@login_required
def decline(request: HttpRequest, slug: str) -> HttpResponse:
    """Decline an invitation. Idempotent."""
    mine = Team.objects.filter(Q(memberships__user=request.user) | Q(invitations__user=request.user)).distinct()
    found = get_object_or_404(mine, slug=slug)
    user = user_of(request)
    services.end_invitation(team=found, user=user, by=user)
    messages.success(request, "The invitation is declined.")
    return redirect("accounts:teams")


def _change(do: Callable[..., Any], *, said: str, said_of_oneself: str = "") -> Callable[..., HttpResponse]:
    """A view that changes a member, or an invited user."""

    @require_POST
    @login_required
    def change(request: HttpRequest, slug: str, username: str) -> HttpResponse:
        found = _of_member(request=request, slug=slug)
        user = get_object_or_404(User, username=username)
        try:
            do(found, user, by=user_of(request))
        except services.NotAllowedError as error:
            messages.error(request, str(error))
        else:
            is_oneself = user.pk == request.user.pk
            messages.success(request, (is_oneself and said_of_oneself) or said.format(username))
        still_in = services.is_member(user_id=request.user.pk, team_id=found.pk)
        return redirect("accounts:team", slug=slug) if still_in else redirect("accounts:teams")

    return change


withdraw = _change(
    lambda team, user, by: services.end_invitation(team=team, user=user, by=by), said="{} is no longer invited."
)
remove = _change(
    lambda team, user, by: services.remove(team=team, user=user, by=by),
    said="{} is no longer in the team.",
    said_of_oneself="You have left the team.",
)
hand_over = _change(lambda team, user, by: services.hand_over(team=team, to=user, by=by), said="{} now owns the team.")


def _of_member(*, request: HttpRequest, slug: str) -> Team:
    """The team, or 404 for non-members."""
    return get_object_or_404(services.teams_of(user_of(request)), slug=slug)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def tokens(request: HttpRequest) -> HttpResponse:
    """List the tokens; a POST creates one and shows it once, in the response itself instead of after a redirect."""
    form, made = made_from(request, form=TokenForm, make=partial(create_token, user=user_of(request)))
    site = settings.SITE_URL or request.build_absolute_uri("/").rstrip("/")
    lines = lines_for(site=site, name=made.name, token=made.token, scopes=made.scopes) if made else lines_for(site=site)
    context = {"form": form, "made": made, "tokens": tokens_of(user_of(request)), "lines": lines}
    return render(request, "people/tokens.html", context, status=400 if form.errors else 200)


@require_POST
@login_required
def revoke(request: HttpRequest, token_id: str) -> HttpResponse:
    """Revoke a token. Idempotent."""
    if revoke_token(user=user_of(request), token_id=token_id):
        messages.success(request, "The token is revoked. Requests with it are now refused.")
    return redirect("accounts:tokens")
