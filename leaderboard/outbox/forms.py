"""The form that adds a webhook. The rules stand in `webhooks.py`."""

from django import forms

from leaderboard.accounts.forms import ServiceForm


class WebhookForm(ServiceForm):
    """An address to tell."""

    url = forms.CharField(
        label="Address",
        help_text="Gets a signed POST when an evaluation of yours completes, fails, is cancelled or waits for you.",
        widget=forms.URLInput(attrs={"placeholder": "https://example.org/planarena"}),
    )
