"""Forms of tokens, teams and profiles. The rules are in `services.py`, `teams.py` and `profile.py`."""

from collections.abc import Callable
from typing import Any, TypeVar

from django import forms
from django.http import HttpRequest

from leaderboard.people.models import Scope
from leaderboard.people.profile import LONGEST_TEXT
from leaderboard.people.services import DEFAULT_DAYS, DEFAULT_SCOPES, LONGEST_DAYS, LONGEST_TOKEN_NAME
from leaderboard.platform.problems import FieldErrors


class ServiceForm(forms.Form):
    """A form that shows errors of services."""

    def show(self, problems: FieldErrors) -> None:
        """Add a service's errors to their fields."""
        for field, texts in problems.errors.items():
            for text in texts:
                self.add_error(field if field in self.fields else None, text)


class TokenForm(ServiceForm):
    """Name, scopes and lifetime of a new token."""

    name = forms.CharField(
        label="Name",
        help_text="Where it is used, such as the name of a pipeline.",
        max_length=LONGEST_TOKEN_NAME,
    )
    scopes = forms.MultipleChoiceField(
        label="Scopes",
        choices=Scope.choices,
        initial=list(DEFAULT_SCOPES),
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one."},
    )
    days = forms.IntegerField(
        label="Days until it expires",
        help_text=f"1 to {LONGEST_DAYS}. Expired tokens are refused.",
        initial=DEFAULT_DAYS,
        widget=forms.NumberInput(attrs={"class": "short"}),
    )


class TeamForm(ServiceForm):
    """A new team."""

    name = forms.CharField(label="Name", help_text="Shown on boards with the team's submissions.")
    slug = forms.CharField(
        label="Short name", help_text="For URLs and the API: lower-case letters, digits and '-', such as plan-lab."
    )


class InviteForm(ServiceForm):
    """A user to invite."""

    username = forms.CharField(label="User name", help_text="They join the team when they accept.")


Form = TypeVar("Form", bound=ServiceForm)


def made_from(request: HttpRequest, *, form: type[Form], make: Callable[..., Any]) -> tuple[Form, Any]:
    """The form to show, and the object that a POST created, for responses that show it without a redirect.

    Args:
        request: a GET, or a POST of the form.
        form: its class.
        make: called with the cleaned data; its field errors are shown in the form.
    """
    bound = form(request.POST if request.method == "POST" else None)
    if not bound.is_valid():
        return bound, None
    try:
        created = make(**bound.cleaned_data)
    except FieldErrors as problems:
        bound.show(problems)
        return bound, None
    return form(), created


class ProfileForm(ServiceForm):
    """The profile of a user."""

    display_name = forms.CharField(
        label="Name", help_text="Optional. Shown above your user name.", required=False, strip=True
    )
    affiliation = forms.CharField(
        label="Affiliation", help_text="Optional: a university, a company, a laboratory.", required=False
    )
    link = forms.CharField(
        label="Link",
        help_text="Optional: your own page, such as https://example.org/me.",
        required=False,
        widget=forms.URLInput,
    )
    bio = forms.CharField(
        label="About you",
        help_text=f"Optional: plain text of at most {LONGEST_TEXT} characters.",
        required=False,
        widget=forms.Textarea(attrs={"rows": 5}),
    )


class TeamProfileForm(ServiceForm):
    """The public page of a team."""

    description = forms.CharField(
        label="About the team",
        help_text=f"Optional: plain text of at most {LONGEST_TEXT} characters.",
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
    )
    link = forms.CharField(
        label="Link", help_text="Optional: the team's own page.", required=False, widget=forms.URLInput
    )
    shows_members = forms.BooleanField(label="Show the list of members publicly", required=False)
