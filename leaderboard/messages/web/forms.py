"""The form that adds a webhook. The rules stand in `webhooks.py`."""

from django import forms

from leaderboard.people.models import Mails
from leaderboard.people.web.forms import ServiceForm


class MailsForm(ServiceForm):
    """Of what one gets mails."""

    mails = forms.ChoiceField(label="Send me an email", choices=Mails.choices, widget=forms.RadioSelect)


class WebhookForm(ServiceForm):
    """An address to tell."""

    url = forms.CharField(
        label="Address",
        help_text="Receives a signed POST when one of your evaluations completes, fails, is cancelled or needs "
        "your action.",
        widget=forms.URLInput(attrs={"placeholder": "https://example.org/planarena"}),
    )
