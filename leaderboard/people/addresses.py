"""Protection against enumeration of email addresses.

Entering an address, at sign-up or in an account, has the same visible result whether it has an account or not: the same
rows are written, with the address unconfirmed, and one email is sent to it. Only the email differs, and only the owner
of the address reads it. Usernames are public, so forms report if one is taken.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from allauth.account import forms as allauth_forms
from allauth.account.auth_backends import AuthenticationBackend as AllauthBackend
from allauth.account.internal.userkit import filter_users_by_email, get_user_by_username
from allauth.account.models import EmailAddress
from allauth.account.utils import get_next_redirect_url
from allauth.core import context
from allauth.socialaccount.forms import SignupForm as SocialSignupForm
from allauth.socialaccount.models import SocialLogin
from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Exists, OuterRef, Q
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html

from leaderboard.people.models import User

KEEP_UNCONFIRMED = timedelta(days=7)
"""Age at which an account without a confirmed address is deleted."""
_LINK_INSTEAD = "An account with this address already exists: sign in to it, then link GitHub under Account, Sign-in."


def is_used_by_another(*, email: str, user: User | None) -> bool:
    """Whether an account other than `user` has this address, confirmed by its owner or set by an operator."""
    confirmed = EmailAddress.objects.filter(email=email.lower(), verified=True)
    assigned = User.objects.filter(email__iexact=email, emailaddress=None)
    if user is not None:
        confirmed, assigned = confirmed.exclude(user=user), assigned.exclude(pk=user.pk)
    return confirmed.exists() or assigned.exists()


class _AnyAddress:
    """A sign-up form that never rejects an address as taken.

    allauth would create no account then, and the username that stayed free would reveal that the address is taken.
    """

    def validate_unique_email(self, value: str) -> str:
        return value


class SignUpForm(_AnyAddress, allauth_forms.SignupForm):
    """Sign-up with a password."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].help_text = "Public: boards show it with your submissions. Not an email address."


class SignUpWithGitHubForm(_AnyAddress, SocialSignupForm):
    """Sign-up with an external account."""

    def validate_unique_email(self, value: str) -> str:
        if value in own_addresses(self.sociallogin):
            # The user has proved to own this address.
            raise ValidationError(_LINK_INSTEAD)
        return super().validate_unique_email(value)


def own_addresses(login: SocialLogin) -> set[str]:
    """The addresses confirmed by the external account that have an account here."""
    confirmed = {address.email.lower() for address in login.email_addresses if address.verified}
    return {email for email in confirmed if is_used_by_another(email=email, user=None)}


RETURN_TO = "return_to"
"""Field of the form that asks for a new password: where the user wanted to go. Not `next`, to which allauth would
redirect at once."""


class LoginForm(allauth_forms.LoginForm):
    """Sign-in. The link for forgotten passwords keeps where the user wanted to go."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        target = None if context.request is None else get_next_redirect_url(context.request)
        query = f"?{urlencode({RETURN_TO: target})}" if target else ""
        self.fields["password"].help_text = format_html(
            '<a href="{}{}">Forgot your password?</a>', reverse("account_reset_password"), query
        )


class ResetPasswordForm(allauth_forms.ResetPasswordForm):
    """Sends one email whether an address has no account, one, or several unconfirmed ones."""

    return_to = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if context.request is not None:
            self.fields[RETURN_TO].initial = context.request.GET.get(RETURN_TO, "")

    def clean_email(self) -> str:
        email = super().clean_email()
        self.users = _oldest(self.users)
        return email


class AuthenticationBackend(AllauthBackend):
    """Checks exactly one password, whether there is no account, one, or several unconfirmed ones.

    allauth checks the password of an account found by address twice, and that of every unconfirmed account, which
    anyone can create, so the response time would reveal whether an address has an account.
    """

    def _authenticate(self, request: HttpRequest | None, **credentials: Any) -> Any:  # noqa: ARG002 - the base class's
        login = credentials.get("email") or credentials.get("username") or ""
        users = _oldest(filter_users_by_email(login, prefer_verified=True, for_login=True)) if "@" in login else []
        user = users[0] if users else get_user_by_username(login)
        return self._check_password(user, credentials["password"])


def _oldest(users: Iterable[User]) -> list[User]:
    """The oldest of several accounts with the same unconfirmed address."""
    return sorted(users, key=lambda user: user.pk)[:1]


def remove_unconfirmed() -> int:
    """Delete accounts whose address was not confirmed in time. Returns their number.

    Accounts that have signed in, which is possible where confirmation is optional, are kept.
    """
    confirmed = EmailAddress.objects.filter(user=OuterRef("pk"), verified=True)
    unconfirmed = EmailAddress.objects.filter(user=OuterRef("pk"), verified=False)
    stale = User.objects.filter(
        ~Exists(confirmed),
        Exists(unconfirmed),
        Q(socialaccount=None, memberships=None, planners=None, submissions=None),
        is_staff=False,
        last_login=None,
        date_joined__lt=timezone.now() - KEEP_UNCONFIRMED,
    )
    return User.objects.filter(pk__in=stale.values("pk")).delete()[1].get(User._meta.label, 0)
