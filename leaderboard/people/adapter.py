"""What allauth asks the site about accounts."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from leaderboard.people.addresses import is_used_by_another
from leaderboard.platform.database import give_connection_back

_NAME_IS_PUBLIC = "User names are public: choose one that is not an email address, without '@'."


class Adapter(DefaultAccountAdapter):
    """Tells nobody whose addresses have accounts, and counts wrong passwords so that no header moves the limit."""

    def clean_username(self, username: str, shallow: bool = False) -> str:
        if "@" in username:
            raise ValidationError(_NAME_IS_PUBLIC)
        return super().clean_username(username, shallow)

    def send_confirmation_mail(self, request: HttpRequest, emailconfirmation: Any, signup: bool) -> None:
        """Ask to confirm an address, or tell its owner that somebody tried to use it for another account."""
        address = emailconfirmation.email_address
        if is_used_by_another(email=address.email, user=address.user):
            self.send_account_already_exists_mail(address.email)
        else:
            super().send_confirmation_mail(request, emailconfirmation, signup)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send a mail within the request, since the outbox would keep its link in the database."""
        # The mail server may take up to `EMAIL_TIMEOUT`.
        give_connection_back()
        super().send_mail(template_prefix, email, context)

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:  # noqa: ARG002
        """What wrong passwords of an account are counted under. allauth's own key holds the `Host` header, in which a
        caller may put any port: each would have a count of its own."""
        login = credentials.get("email") or credentials.get("username") or ""
        return f"login:{login.lower()}"
