"""Adapters of allauth: accounts of the site, and sign-in with GitHub."""

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit
from urllib.request import proxy_bypass

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.utils import get_next_redirect_url
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from django.conf import settings
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.http import HttpRequest
from django.urls import reverse

from leaderboard.people.addresses import RETURN_TO, is_used_by_another, own_addresses
from leaderboard.platform.database import give_connection_back
from leaderboard.platform.emails import multipart

if TYPE_CHECKING:
    from requests import Session  # noqa: TID251 - what allauth speaks through


_NAME_IS_PUBLIC = "User names are public: choose one that is not an email address, without '@'."


class Adapter(DefaultAccountAdapter):
    """Does not reveal which addresses have accounts, and counts wrong passwords independently of request headers."""

    def clean_username(self, username: str, shallow: bool = False) -> str:
        if "@" in username:
            raise ValidationError(_NAME_IS_PUBLIC)
        return super().clean_username(username, shallow)

    def send_confirmation_mail(self, request: HttpRequest, emailconfirmation: Any, signup: bool) -> None:
        """Ask to confirm an address, or notify its owner that it was entered for another account."""
        address = emailconfirmation.email_address
        if is_used_by_another(email=address.email, user=address.user):
            self.send_account_already_exists_mail(address.email)
        else:
            super().send_confirmation_mail(request, emailconfirmation, signup)

    def get_email_confirmation_url(self, request: HttpRequest, emailconfirmation: Any) -> str:
        """The link of the confirmation email. It keeps where the user wanted to go, for browsers without the session
        that signed up: those sign in first."""
        url: str = super().get_email_confirmation_url(request, emailconfirmation)
        return _returning(url, target=get_next_redirect_url(request))

    def get_reset_password_from_key_url(self, key: str) -> str:
        """The link of the email for a new password, after which the user signs in and goes on to where they wanted."""
        url: str = super().get_reset_password_from_key_url(key)
        target = self.request.POST.get(RETURN_TO, "")
        return _returning(url, target=target if target and self.is_safe_url(target) else None)

    def format_email_subject(self, subject: str) -> str:
        """The subject as it is: it names what happened."""
        return subject

    def render_mail(
        self,
        template_prefix: str,
        email: str | list[str],
        context: dict[str, Any],
        headers: dict[str, str] | None = None,
    ) -> EmailMessage:
        """The email of a template, as text and HTML."""
        plain = super().render_mail(template_prefix, email, context, headers)
        return multipart(
            subject=str(plain.subject),
            text=str(plain.body),
            to=plain.to,
            sender=plain.from_email,
            headers={"Auto-Submitted": "auto-generated"} | (headers or {}),
        )

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send a mail within the request, since the outbox would keep its link in the database."""
        # The mail server may take up to `EMAIL_TIMEOUT`.
        give_connection_back()
        super().send_mail(template_prefix, email, context)

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:  # noqa: ARG002
        """The key that counts wrong passwords of an account. allauth's own key contains the `Host` header, so a client
        could get a new counter by varying its port."""
        login = credentials.get("email") or credentials.get("username") or ""
        return f"login:{login.lower()}"


def _returning(url: str, *, target: str | None) -> str:
    """A link of an email that leads to the sign-in page in the end, and from there to `target`."""
    if not target:
        return url
    sign_in = f"{reverse('account_login')}?{urlencode({REDIRECT_FIELD_NAME: target})}"
    return f"{url}?{urlencode({REDIRECT_FIELD_NAME: sign_in})}"


class SocialAdapter(DefaultSocialAccountAdapter):
    """Connects to GitHub through the egress proxy, if configured and unless `NO_PROXY` excludes it."""

    def is_auto_signup_allowed(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        """False if the user already has an account, so that none is duplicated by accident."""
        return not own_addresses(sociallogin) and super().is_auto_signup_allowed(request, sociallogin)

    def get_requests_session(self, *arguments: Any, **options: Any) -> "Session":
        # GitHub may take up to allauth's timeout of 5 seconds for each call.
        give_connection_back()
        session: Session = super().get_requests_session(*arguments, **options)  # type: ignore[no-untyped-call]  # the library has no annotation
        proxy = settings.EGRESS.proxy
        if proxy is not None and not proxy_bypass(urlsplit(settings.GITHUB_URL).hostname or ""):
            # Otherwise the environment's proxies would take precedence.
            session.trust_env = False
            session.proxies = {"http": proxy.url, "https": proxy.url}
        return session
