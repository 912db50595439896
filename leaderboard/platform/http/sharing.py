"""Which answers shared caches may store, and what strangers get while the database does not answer.

A caching proxy may store shareable pages for `KEEP_PAGES_SECONDS` (docs/size.md, "A caching proxy"). The whole request
and response decide: nothing is shared that depends on a session, credentials or a pending message, or that sets a
cookie.
"""

import math
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.http import HttpRequest, HttpResponseBase
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.views.decorators.gzip import gzip_page

from leaderboard.platform.http.kept_pages import is_database_away, keep, kept_page


def share_pages(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Middleware that lets shared caches store shareable pages, and makes all other responses of their views private.

    Must be outside of all middleware that sets cookies. Compresses shared pages, which contain no secrets.
    """

    def answer(request: HttpRequest) -> HttpResponseBase:
        is_a_strangers = _is_a_strangers(request)
        kept = kept_page(request) if is_a_strangers and is_database_away() else None
        response: HttpResponseBase = kept or get_response(request)
        if is_a_strangers and response.status_code == HTTPStatus.SERVICE_UNAVAILABLE:
            response = kept_page(request) or response
        if not getattr(response, "is_shareable", False):
            return response
        patch_vary_headers(response, ["Cookie"])
        if not _may_be_shared(request=request, response=response):
            patch_cache_control(response, private=True, no_cache=True)
            return response
        seconds = math.ceil(settings.KEEP_PAGES_SECONDS)
        # Browsers revalidate each time, proxies once a second, serving the stale page meanwhile. No stale-if-error, by
        # which nginx also shows pages that the site refuses (403).
        response.headers["Cache-Control"] = f"public, max-age=0, s-maxage={seconds}, stale-while-revalidate={seconds}"
        # Rate limits are the caller's own.
        for name in [name for name in response.headers if name.lower().startswith("ratelimit")]:
            del response.headers[name]
        keep(request=request, response=response)
        patch_vary_headers(response, ["Accept-Encoding"])
        return gzip_page(lambda _: response)(request)

    return answer


def _is_a_strangers(request: HttpRequest) -> bool:
    """Whether a request may be answered by what others get, if anything is shared at all."""
    return (
        settings.KEEP_PAGES_SECONDS > 0
        and request.method in {"GET", "HEAD"}
        and "HTTP_AUTHORIZATION" not in request.META
        and settings.SESSION_COOKIE_NAME not in request.COOKIES
        and CookieStorage.cookie_name not in request.COOKIES
    )


def _may_be_shared(*, request: HttpRequest, response: HttpResponseBase) -> bool:
    return (
        _is_a_strangers(request)
        and response.status_code in {HTTPStatus.OK, HTTPStatus.NOT_MODIFIED}
        and not response.cookies
        and "no-store" not in response.get("Cache-Control", "")
    )
