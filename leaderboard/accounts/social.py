"""Sign-in with GitHub: its servers are called through the egress proxy, where there is one."""

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import proxy_bypass

from django.conf import settings

from leaderboard.accounts.addresses import GitHubAdapter

if TYPE_CHECKING:
    from requests import Session  # noqa: TID251 - what allauth speaks through


class Adapter(GitHubAdapter):
    """The site's, with the operator's proxy. `NO_PROXY` names servers that are reached without it."""

    def get_requests_session(self, *arguments: Any, **options: Any) -> "Session":
        session: Session = super().get_requests_session(*arguments, **options)  # type: ignore[no-untyped-call]  # the library has no annotation
        proxy = settings.EGRESS.proxy
        if proxy is not None and not proxy_bypass(urlsplit(settings.GITHUB_URL).hostname or ""):
            # Else the environment's proxies would come first.
            session.trust_env = False
            session.proxies = {"http": proxy.url, "https": proxy.url}
        return session
