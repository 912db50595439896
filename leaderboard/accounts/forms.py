"""The form that makes a token. The rules stand in `services.py`."""

from django import forms

from leaderboard.accounts.services import DEFAULT_DAYS, LONGEST_DAYS
from leaderboard.field_errors import FieldErrors


class TokenForm(forms.Form):
    """How long a new token lasts."""

    days = forms.IntegerField(
        label="Days until it expires",
        help_text=f"1 to {LONGEST_DAYS}. An expired token is refused; make a new one then.",
        initial=DEFAULT_DAYS,
        widget=forms.NumberInput(attrs={"class": "short"}),
    )

    def show(self, problems: FieldErrors) -> None:
        """Put the service's errors beside their fields."""
        for field, texts in problems.errors.items():
            for text in texts:
                self.add_error(field if field in self.fields else None, text)
