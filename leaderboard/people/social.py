"""What allauth asks the site about accounts elsewhere."""

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import proxy_bypass

from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from django.conf import settings
from django.http import HttpRequest

from leaderboard.people.addresses import own_addresses
from leaderboard.platform.database import give_connection_back

if TYPE_CHECKING:
    from requests import Session  # noqa: TID251 - what allauth speaks through


class Adapter(DefaultSocialAccountAdapter):
    """Reaches GitHub through the egress proxy, where there is one; `NO_PROXY` names servers that need none."""

    def is_auto_signup_allowed(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        """Not where somebody has an account already: a second one would be a surprise."""
        return not own_addresses(sociallogin) and super().is_auto_signup_allowed(request, sociallogin)

    def get_requests_session(self, *arguments: Any, **options: Any) -> "Session":
        # GitHub may take up to allauth's timeout of 5 seconds for each call.
        give_connection_back()
        session: Session = super().get_requests_session(*arguments, **options)  # type: ignore[no-untyped-call]  # the library has no annotation
        proxy = settings.EGRESS.proxy
        if proxy is not None and not proxy_bypass(urlsplit(settings.GITHUB_URL).hostname or ""):
            # Else the environment's proxies would come first.
            session.trust_env = False
            session.proxies = {"http": proxy.url, "https": proxy.url}
        return session
