"""The fields that say who sees a submission, for every form with them; `evaluations/visibility.py` has the rules."""

from datetime import datetime
from typing import TypedDict

from django import forms

from leaderboard.evaluations.models import Visibility
from leaderboard.people.web.forms import ServiceForm
from leaderboard.submissions.fields import EMBARGO_UNTIL, VISIBILITY


class VisibilityEntered(TypedDict):
    """What was chosen, for the services."""

    visibility: str
    embargo_until: datetime | None


class VisibilityFields(forms.Form):
    """Who sees it, and until when an embargo lasts."""

    visibility = VISIBILITY.form_field()
    embargo_until = EMBARGO_UNTIL.form_field()

    def visibility_entered(self) -> VisibilityEntered:
        """What was entered; the date counts only for an embargo."""
        chosen = self.cleaned_data.get("visibility") or Visibility.PUBLIC
        until = self.cleaned_data.get("embargo_until") if chosen == Visibility.EMBARGO else None
        return VisibilityEntered(visibility=chosen, embargo_until=until)


class ChangeVisibilityForm(VisibilityFields, ServiceForm):
    """Who sees what was submitted before, from now on."""
