"""allauth's password forms, extended to list and revoke the user's tokens."""

from typing import Any

from allauth.account import forms as allauth_forms
from django import forms
from django.db import transaction

from leaderboard.people.credentials import Credential, PasswordEvent, credentials_of, end_credentials
from leaderboard.people.models import User


class _KeptField(forms.MultipleChoiceField):
    """Tokens to keep. Accepts tokens that have been revoked meanwhile."""

    def valid_value(self, value: str) -> bool:  # noqa: ARG002 - the base class's
        return True


class ChangePasswordForm(allauth_forms.ChangePasswordForm):
    """Change of the password with the old one. The user can select tokens to keep; none is selected by default, since
    the old password may be compromised."""

    user: User
    keep = _KeptField(
        label="Tokens to keep",
        help_text="Tokens are revoked with the old password. Tick the ones to keep.",
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        credentials = credentials_of(self.user)
        keep = self.fields["keep"]
        assert isinstance(keep, _KeptField)
        if credentials:
            keep.choices = [(credential.key, described(credential)) for credential in credentials]
        else:
            del self.fields["keep"]

    def save(self) -> None:
        with transaction.atomic():
            super().save()
            keep = self.cleaned_data.get("keep", [])
            end_credentials(user=self.user, event=PasswordEvent.CHANGED, keep=keep)


class ResetPasswordKeyForm(allauth_forms.ResetPasswordKeyForm):
    """Reset of the password with the link in an email. Revokes all tokens, since they may be compromised."""

    def ending(self) -> list[str]:
        """The tokens that will be revoked, as phrases."""
        return [described(credential) for credential in credentials_of(self.user)]

    def save(self) -> None:
        with transaction.atomic():
            super().save()
            end_credentials(user=self.user, event=PasswordEvent.RESET)


def described(credential: Credential) -> str:
    """A credential in one line."""
    kind = credential.kind[0].upper() + credential.kind[1:]
    return f"{kind} {credential.name}: made {credential.made:%Y-%m-%d %H:%M} UTC, {credential.note}"
