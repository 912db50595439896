"""The form that makes a worker token. The rules stand in `tokens.py`."""

from django import forms

from leaderboard.accounts.forms import ServiceForm


class WorkerTokenForm(ServiceForm):
    """What a new token is for."""

    name = forms.CharField(label="What it is for", help_text="Such as the name of the machine that the worker runs on.")
