"""What allauth asks the site about accounts."""

from typing import Any

from django.http import HttpRequest

from leaderboard.accounts.addresses import AddressAdapter


class Adapter(AddressAdapter):
    """Tells nobody whose addresses have accounts, and counts wrong passwords so that no header moves the limit."""

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:  # noqa: ARG002
        """What wrong passwords of an account are counted under. allauth's own key holds the `Host` header, in which a
        caller may put any port: each would have a count of its own."""
        login = credentials.get("email") or credentials.get("username") or ""
        return f"login:{login.lower()}"
