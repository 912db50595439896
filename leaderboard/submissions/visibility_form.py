"""The fields that say who sees a submission, for every form with them; `evaluations/visibility.py` has the rules."""

from datetime import datetime
from typing import TypedDict

from django import forms

from leaderboard.accounts.forms import ServiceForm
from leaderboard.evaluations.models import Visibility


class VisibilityEntered(TypedDict):
    """What was chosen, for the services."""

    visibility: str
    embargo_until: datetime | None


class VisibilityFields(forms.Form):
    """Who sees it, and until when an embargo lasts."""

    visibility = forms.ChoiceField(
        label="Who sees it?",
        choices=[
            (Visibility.PUBLIC, "Public: ranked when it is completed"),
            (Visibility.EMBARGO, "Embargo: only you, your team and the operators until a date, then public"),
            (Visibility.PRIVATE, "Private: only you, your team and the operators; not on boards"),
        ],
        initial=Visibility.PUBLIC,
        required=False,
        widget=forms.RadioSelect,
    )
    embargo_until = forms.DateTimeField(
        label="End of the embargo (UTC)",
        help_text="At most a year from now. The submission then becomes public and is ranked; you can end the "
        "embargo earlier.",
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local", "class": "moment"}, format="%Y-%m-%dT%H:%M"),
    )

    def visibility_entered(self) -> VisibilityEntered:
        """What was entered; the date counts only for an embargo."""
        chosen = self.cleaned_data.get("visibility") or Visibility.PUBLIC
        until = self.cleaned_data.get("embargo_until") if chosen == Visibility.EMBARGO else None
        return VisibilityEntered(visibility=chosen, embargo_until=until)


class ChangeVisibilityForm(VisibilityFields, ServiceForm):
    """Who sees what was submitted before, from now on."""
