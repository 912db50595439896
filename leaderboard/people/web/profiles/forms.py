"""Forms in which people and teams describe themselves. `people/profile.py` has the rules."""

from django import forms

from leaderboard.people.profile import LONGEST_TEXT
from leaderboard.people.web.forms import ServiceForm


class ProfileForm(ServiceForm):
    """What a person tells."""

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
    """What a team's owner tells of it."""

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
