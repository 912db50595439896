"""allauth's forms for another password, which say what else ends and let it end with the old password."""

from typing import Any

from allauth.account import forms as allauth_forms
from django import forms
from django.db import transaction

from leaderboard.people.credentials import Credential, PasswordEvent, credentials_of, end_credentials
from leaderboard.people.models import User


class _KeptField(forms.MultipleChoiceField):
    """Which tokens to keep. What ended meanwhile may be named: nothing is left to keep then."""

    def valid_value(self, value: str) -> bool:  # noqa: ARG002 - the base class's
        return True


class ChangePasswordForm(allauth_forms.ChangePasswordForm):
    """A new password, by somebody who knows the old one, who may keep tokens that they tick.

    Nothing is ticked at first: people change a password because somebody else may know it.
    """

    user: User
    keep = _KeptField(
        label="Tokens to keep",
        help_text="Tokens are revoked with the old password. Tick the ones to keep.",
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        found = credentials_of(self.user)
        keep = self.fields["keep"]
        assert isinstance(keep, _KeptField)
        if found:
            keep.choices = [(credential.key, described(credential)) for credential in found]
        else:
            del self.fields["keep"]

    def save(self) -> None:
        with transaction.atomic():
            super().save()
            keep = self.cleaned_data.get("keep", [])
            end_credentials(user=self.user, event=PasswordEvent.CHANGED, keep=keep)


class ResetPasswordKeyForm(allauth_forms.ResetPasswordKeyForm):
    """A new password, by somebody who has only the link in a mail. No token stays, since somebody else may have it."""

    def ending(self) -> list[str]:
        """What will end, as phrases."""
        return [described(credential) for credential in credentials_of(self.user)]

    def save(self) -> None:
        with transaction.atomic():
            super().save()
            end_credentials(user=self.user, event=PasswordEvent.RESET)


def described(credential: Credential) -> str:
    """A credential in one line."""
    kind = credential.kind[0].upper() + credential.kind[1:]
    return f"{kind} {credential.name}: made {credential.made:%Y-%m-%d %H:%M} UTC, {credential.note}"
