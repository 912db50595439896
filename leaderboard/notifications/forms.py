"""The form that adds a webhook. The rules stand in `webhooks.py`."""

from django import forms

from leaderboard.accounts.forms import ServiceForm
from leaderboard.accounts.models import Mails


class MailsForm(ServiceForm):
    """Of what one gets mails."""

    mails = forms.ChoiceField(label="Send me a mail", choices=Mails.choices, widget=forms.RadioSelect)


class WebhookForm(ServiceForm):
    """An address to tell."""

    url = forms.CharField(
        label="Address",
        help_text="Gets a signed POST when an evaluation of yours completes, fails, is cancelled or waits for you.",
        widget=forms.URLInput(attrs={"placeholder": "https://example.org/planarena"}),
    )
