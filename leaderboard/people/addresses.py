"""E-mail addresses without telling strangers which of them have an account.

Whoever enters an address, at sign-up or in an account, gets the same answer whether somebody has it or not: in both
cases the same rows are written, with the address unconfirmed, and one mail is sent to it. Only the mail differs, and
only the owner of the address reads it. User names are another matter: they are public, and a form says if one is taken.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from allauth.account import forms as allauth_forms
from allauth.account.auth_backends import AuthenticationBackend as AllauthBackend
from allauth.account.internal.userkit import filter_users_by_email, get_user_by_username
from allauth.account.models import EmailAddress
from allauth.socialaccount.forms import SignupForm as SocialSignupForm
from allauth.socialaccount.models import SocialLogin
from django.core.exceptions import ValidationError
from django.db.models import Exists, OuterRef, Q
from django.http import HttpRequest
from django.utils import timezone

from leaderboard.people.models import User

KEEP_UNCONFIRMED = timedelta(days=7)
"""For so long an account waits for its address to be confirmed before it is removed."""
_LINK_INSTEAD = "An account with this address already exists: sign in to it, then link GitHub under Account, Sign-in."


def is_used_by_another(*, email: str, user: User | None) -> bool:
    """Whether an account other than `user` has this address, which its owner confirmed or an operator gave it."""
    confirmed = EmailAddress.objects.filter(email=email.lower(), verified=True)
    given = User.objects.filter(email__iexact=email, emailaddress=None)
    if user is not None:
        confirmed, given = confirmed.exclude(user=user), given.exclude(pk=user.pk)
    return confirmed.exists() or given.exists()


class _AnyAddress:
    """A sign-up form that never refuses an address for being taken.

    allauth would make no account then. The user name that was entered stayed free, which told that the address was not.
    """

    def validate_unique_email(self, value: str) -> str:
        return value


class SignUpForm(_AnyAddress, allauth_forms.SignupForm):
    """Signing up with a password."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].help_text = "Public: boards show it with your submissions. Not an email address."


class SignUpWithGitHubForm(_AnyAddress, SocialSignupForm):
    """Signing up with an account elsewhere."""

    def validate_unique_email(self, value: str) -> str:
        if value in own_addresses(self.sociallogin):
            # Who has shown that an address is theirs may know.
            raise ValidationError(_LINK_INSTEAD)
        return super().validate_unique_email(value)


def own_addresses(login: SocialLogin) -> set[str]:
    """The addresses that were confirmed elsewhere and have an account here."""
    confirmed = {address.email.lower() for address in login.email_addresses if address.verified}
    return {email for email in confirmed if is_used_by_another(email=email, user=None)}


class ResetPasswordForm(allauth_forms.ResetPasswordForm):
    """Sends one mail whether an address has no account, one, or several that did not confirm it."""

    def clean_email(self) -> str:
        entered = super().clean_email()
        self.users = _one_of(self.users)
        return entered


class AuthenticationBackend(AllauthBackend):
    """Checks one password, whatever is entered: no account, one, or several that did not confirm the address.

    allauth checks that of an account found by its address twice, and that of every unconfirmed account, which anybody
    can make: the time of the answer told whether an address has an account.
    """

    def _authenticate(self, request: HttpRequest | None, **credentials: Any) -> Any:  # noqa: ARG002 - the base class's
        entered = credentials.get("email") or credentials.get("username") or ""
        found = _one_of(filter_users_by_email(entered, prefer_verified=True, for_login=True)) if "@" in entered else []
        user = found[0] if found else get_user_by_username(entered)
        return self._check_password(user, credentials["password"])


def _one_of(users: Iterable[User]) -> list[User]:
    """The account that is meant by an address which several have entered: the first, whoever came later."""
    return sorted(users, key=lambda user: user.pk)[:1]


def remove_unconfirmed() -> int:
    """Remove accounts whose address was not confirmed in time, and return how many.

    Nobody has ever signed in with them where addresses must be confirmed; elsewhere signing in keeps an account.
    """
    confirmed = EmailAddress.objects.filter(user=OuterRef("pk"), verified=True)
    entered = EmailAddress.objects.filter(user=OuterRef("pk"), verified=False)
    stale = User.objects.filter(
        ~Exists(confirmed),
        Exists(entered),
        Q(socialaccount=None, memberships=None, planners=None, submissions=None),
        is_staff=False,
        last_login=None,
        date_joined__lt=timezone.now() - KEEP_UNCONFIRMED,
    )
    return User.objects.filter(pk__in=stale.values("pk")).delete()[1].get(User._meta.label, 0)
