"""In-process cache of whole pages, in two layers.

By ETag: the ETag changes with everything that the page shows, so that a page is never older than its data. By address:
for readers who are not signed in, for `KEEP_PAGES_SECONDS`, without a query.
"""

import gzip
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import ResolverMatch
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.utils.decorators import sync_and_async_middleware

from leaderboard.boards.pages.caching import not_modified, page_tag, with_tag
from leaderboard.site.lru_cache import SharedCache

_MOST_PAGES = 200
"""A page of 50 rows has about 120 kB."""


class KeptPage(NamedTuple):
    """A complete answer, with all headers that other middleware gave it."""

    content: bytes
    packed: bytes
    """The same by gzip, a tenth of the size."""
    headers: tuple[tuple[str, str], ...]
    match: ResolverMatch | None
    """The view that the measured time is counted for."""
    made: float
    """`time.monotonic()`"""


_bodies: SharedCache[str, bytes] = SharedCache(maxsize=_MOST_PAGES)
# No TTLCache: while one request renews an expired page, others still get the old one.
_pages: SharedCache[str, KeptPage] = SharedCache(maxsize=_MOST_PAGES)


def forget_pages() -> None:
    """Empty both caches."""
    _bodies.clear()
    _pages.clear()


def tagged_page(
    *, request: HttpRequest, parts: Sequence[object], make: Callable[[], HttpResponse], is_kept: bool = True
) -> HttpResponse:
    """A page that looks the same to everybody who is not signed in: 304 if the reader has it already.

    Args:
        parts: everything that the page shows, as JSON values.
        make: makes the page.
        is_kept: whether the page is made only once while it shows the same. Keeps its content, and no headers.
    """
    tag = page_tag(request=request, parts=parts)
    if answer := not_modified(request=request, tag=tag):
        return answer
    keep = tag if is_kept else None
    response = make() if keep is None else HttpResponse(_bodies.get_or_make(keep, lambda: make().content))
    return shareable(with_tag(response=response, tag=tag))


def shareable(response: HttpResponse) -> HttpResponse:
    """Mark a page that looks the same to everybody who is not signed in."""
    response.is_shareable = True  # type: ignore[attr-defined]  # read in `_keep`
    return response


@sync_and_async_middleware
def serve_kept_pages(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Middleware that serves cached pages. Outside all others but the one that measures."""
    if iscoroutinefunction(get_response):

        async def answer_later(request: HttpRequest) -> HttpResponseBase:
            return _kept(request) or _keep(request=request, response=await get_response(request))

        return answer_later

    def answer(request: HttpRequest) -> HttpResponseBase:
        return _kept(request) or _keep(request=request, response=get_response(request))

    return answer


def _kept(request: HttpRequest) -> HttpResponseBase | None:
    if not _is_from_stranger(request) or (page := _pages.get(_key(request))) is None:
        return None
    if time.monotonic() - page.made >= settings.KEEP_PAGES_SECONDS:
        # This request renews it; others get the old one meanwhile.
        _pages.put(_key(request), page._replace(made=time.monotonic()))
        return None
    request.resolver_match = page.match
    response = _unpack(page=page, packed=_takes_gzip(request))
    return get_conditional_response(request, etag=response.headers.get("ETag"), response=response)


def _keep(*, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    if not isinstance(response, HttpResponse) or response.status_code != 200 or response.cookies:
        return response
    if getattr(response, "is_shareable", False) and _is_from_stranger(request):
        patch_vary_headers(response, ["Accept-Encoding"])
        page = KeptPage(
            content=response.content,
            packed=gzip.compress(response.content, compresslevel=5, mtime=0),
            headers=tuple(response.headers.items()),
            match=request.resolver_match,
            made=time.monotonic(),
        )
        _pages.put(_key(request), page)
        return _unpack(page=page, packed=_takes_gzip(request))
    return response


def _unpack(*, page: KeptPage, packed: bool) -> HttpResponse:
    response = HttpResponse(page.packed if packed else page.content)
    for name, value in page.headers:
        response.headers[name] = value
    if packed:
        response.headers["Content-Encoding"] = "gzip"
        if etag := response.headers.get("ETag"):
            # Other bytes of the same page: a weak tag (RFC 9110, section 8.8.1).
            response.headers["ETag"] = f"W/{etag.removeprefix('W/')}"
    if "Content-Length" in response.headers:
        response.headers["Content-Length"] = str(len(response.content))
    return response


def _takes_gzip(request: HttpRequest) -> bool:
    named = [part.partition(";") for part in request.META.get("HTTP_ACCEPT_ENCODING", "").lower().split(",")]
    return any(name.strip() == "gzip" and weight.replace(" ", "") != "q=0" for name, _, weight in named)


def _is_from_stranger(request: HttpRequest) -> bool:
    """Without a session and without a waiting message: both need a cookie."""
    return (
        settings.KEEP_PAGES_SECONDS > 0
        and request.method == "GET"
        and settings.SESSION_COOKIE_NAME not in request.COOKIES
        and CookieStorage.cookie_name not in request.COOKIES
    )


def _key(request: HttpRequest) -> str:
    # Feeds name the host of the request; hosts that are not allowed are never cached.
    return f"{request.scheme}://{request.META.get('HTTP_HOST', '')}{request.get_full_path()}"
