"""Forms about tokens and teams. The rules stand in `services.py` and `teams.py`."""

from django import forms

from leaderboard.people.scopes import DEFAULT_SCOPES, Scope
from leaderboard.people.services import DEFAULT_DAYS, LONGEST_DAYS, LONGEST_TOKEN_NAME
from leaderboard.platform.problems import FieldErrors


class ServiceForm(forms.Form):
    """A form that shows what a service found wrong."""

    def show(self, problems: FieldErrors) -> None:
        """Put the service's errors beside their fields."""
        for field, texts in problems.errors.items():
            for text in texts:
                self.add_error(field if field in self.fields else None, text)


class TokenForm(ServiceForm):
    """What a new token is called, what it is good for, and how long it lasts."""

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
    """A team to make."""

    name = forms.CharField(label="Name", help_text="Shown on boards with the team's submissions.")
    slug = forms.CharField(
        label="Short name", help_text="For addresses and the API: lower-case letters, digits and '-', such as plan-lab."
    )


class InviteForm(ServiceForm):
    """Somebody to invite."""

    username = forms.CharField(label="User name", help_text="They join the team when they accept.")
