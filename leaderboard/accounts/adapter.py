"""What allauth asks the site about accounts."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest


class Adapter(DefaultAccountAdapter):
    """allauth's own, with a limit on wrong passwords that no header moves."""

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:  # noqa: ARG002
        """What wrong passwords of an account are counted under. allauth's own key holds the `Host` header, in which a
        caller may put any port: each would have a count of its own."""
        login = credentials.get("email") or credentials.get("username") or ""
        return f"login:{login.lower()}"
