"""Where a reader returns to after signing in or up."""

from urllib.parse import urlencode

from django import template
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme

register = template.Library()
_ENTRANCE = "account", "socialaccount", "mfa", "github"
"""Beginnings of the names of allauth's pages: from there readers go on to where they wanted to go before."""
_LONGEST = 1000


@register.filter
def return_target(request: object) -> str:
    """The query of links to sign-in and sign-up pages, `?next=...`; empty for the home page and where the request is
    unknown, as on error pages. Foreign addresses are dropped."""
    if not isinstance(request, HttpRequest) or request.resolver_match is None:
        return ""
    is_entrance = str(request.resolver_match.view_name).partition("_")[0] in _ENTRANCE
    target = request.GET.get(REDIRECT_FIELD_NAME, "") if is_entrance else request.get_full_path()
    if target in {"", "/"} or len(target) > _LONGEST or not url_has_allowed_host_and_scheme(target, allowed_hosts=None):
        return ""
    return f"?{urlencode({REDIRECT_FIELD_NAME: target})}"
