"""The form that makes a worker token. The rules stand in `tokens.py`."""

from django import forms

from leaderboard.people.web.forms import ServiceForm


class WorkerTokenForm(ServiceForm):
    """What a new token is for."""

    name = forms.CharField(label="Name", help_text="Such as the machine that the worker runs on.")
