"""In-process cache of whole pages, in two layers.

By ETag: the ETag changes with everything that the page shows, so that a page is never older than its data. By address:
for readers who are not signed in, for `KEEP_PAGES_SECONDS`, without a query.
"""

import gzip
import time
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import ResolverMatch
from django.utils.cache import get_conditional_response, patch_vary_headers

from leaderboard.boards.web.caching import not_modified, page_tag, with_tag
from leaderboard.platform.lru_cache import SharedCache

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
    """When what it shows was read: `time.monotonic()`"""

    def is_fresh(self) -> bool:
        """Whether it is young enough to be served."""
        return time.monotonic() - self.made < settings.KEEP_PAGES_SECONDS

    def response(self, *, packed: bool) -> HttpResponse:
        """The page as it is answered."""
        response = HttpResponse(self.packed if packed else self.content)
        for name, value in self.headers:
            response.headers[name] = value
        if packed:
            response.headers["Content-Encoding"] = "gzip"
            if etag := response.headers.get("ETag"):
                # Other bytes of the same page: a weak tag (RFC 9110, section 8.8.1).
                response.headers["ETag"] = f"W/{etag.removeprefix('W/')}"
        if "Content-Length" in response.headers:
            response.headers["Content-Length"] = str(len(response.content))
        return response


_bodies: SharedCache[str, bytes] = SharedCache(maxsize=_MOST_PAGES)
# No TTLCache: while one request renews an expired page, others still get the old one.
_pages: SharedCache[str, KeptPage] = SharedCache(maxsize=_MOST_PAGES)


def forget_pages() -> None:
    """Empty both caches."""
    _bodies.clear()
    _pages.clear()


def tagged_page(
    *,
    request: HttpRequest,
    parts: Sequence[object],
    make: Callable[[], HttpResponse],
    is_kept: bool = True,
    read: float | None = None,
) -> HttpResponse:
    """A page that looks the same to everybody who is not signed in: 304 if the reader has it already.

    Args:
        parts: everything that the page shows, as JSON values.
        make: makes the page.
        is_kept: whether the page is made only once while it shows the same. Keeps its content, and no headers.
        read: when what it shows was read, as `time.monotonic()` says it; None: just now.
    """
    tag = page_tag(request=request, parts=parts)
    if answer := not_modified(request=request, tag=tag):
        return shareable(answer, read=read)
    keep = tag if is_kept else None
    response = make() if keep is None else HttpResponse(_bodies.get_or_make(keep, lambda: make().content))
    return shareable(with_tag(response=response, tag=tag), read=read)


def kept_body(tag: str, make: Callable[[], bytes]) -> bytes:
    """What an answer with this ETag holds, made only once."""
    return _bodies.get_or_make(tag, make)


def shareable(response: HttpResponse, *, read: float | None = None) -> HttpResponse:
    """Mark a page that looks the same to everybody who is not signed in.

    Args:
        read: when what it shows was read, as `time.monotonic()` says it; None: just now.
    """
    response.shareable_since = time.monotonic() if read is None else read  # type: ignore[attr-defined]  # of `_keep`
    return response


def serve_kept_pages(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Middleware that serves cached pages. Outside all others but the one that measures."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        return _kept(request) or _keep(request=request, response=get_response(request))

    return answer


def kept_page(key: str) -> KeptPage | None:
    """The page that is kept under this key, fresh or not."""
    return _pages.get(key) if settings.KEEP_PAGES_SECONDS > 0 else None


def key_of(*, scheme: str, host: str, address: str) -> str:
    """What a page is kept under. Feeds name the host of the request; hosts that are not allowed are never cached."""
    return f"{scheme}://{host}{address}"


def takes_gzip(accepted: str) -> bool:
    """Whether the header `Accept-Encoding` names gzip."""
    named = [part.partition(";") for part in accepted.lower().split(",")]
    return any(name.strip() == "gzip" and weight.replace(" ", "") != "q=0" for name, _, weight in named)


def _kept(request: HttpRequest) -> HttpResponseBase | None:
    if not _is_from_stranger(request) or (page := kept_page(_key(request))) is None:
        return None
    if not page.is_fresh():
        # This request renews it; others get the old one meanwhile.
        _pages.put(_key(request), page._replace(made=time.monotonic()))
        return None
    request.resolver_match = page.match
    response = page.response(packed=_takes_gzip(request))
    return get_conditional_response(request, etag=response.headers.get("ETag"), response=response)


def _keep(*, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    if not _is_from_stranger(request):
        return response
    if (page := _unchanged(request=request, response=response)) is not None:
        _pages.put(_key(request), page._replace(made=getattr(response, "shareable_since", time.monotonic())))
        return response
    if not _may_be_kept(response):
        # Otherwise other readers would still get the old page, although it is private now, or the site is not ready.
        _pages.drop(_key(request))
        return response
    assert isinstance(response, HttpResponse), "checked above"
    patch_vary_headers(response, ["Accept-Encoding"])
    page = KeptPage(
        content=response.content,
        packed=gzip.compress(response.content, compresslevel=5, mtime=0),
        # How often somebody may still ask is theirs alone.
        headers=tuple((name, value) for name, value in response.headers.items() if not _is_of_caller(name)),
        match=request.resolver_match,
        made=response.shareable_since,  # type: ignore[attr-defined]  # checked above
    )
    _pages.put(_key(request), page)
    return page.response(packed=_takes_gzip(request))


def _unchanged(*, request: HttpRequest, response: HttpResponseBase) -> KeptPage | None:
    """The page that is kept, if a reader who has it was told that it is still right."""
    if response.status_code != HTTPStatus.NOT_MODIFIED or (page := kept_page(_key(request))) is None:
        return None
    return page if _tag(response.headers) == _tag(dict(page.headers)) else None


def _tag(headers: Mapping[str, str]) -> str | None:
    """The ETag, whether or not it is a weak one."""
    tag = headers.get("ETag")
    return tag and tag.removeprefix("W/")


def _may_be_kept(response: HttpResponseBase) -> bool:
    is_whole = isinstance(response, HttpResponse) and response.status_code == 200 and not response.cookies
    return is_whole and hasattr(response, "shareable_since")


def _is_of_caller(name: str) -> bool:
    return name.lower().startswith("ratelimit")


def _takes_gzip(request: HttpRequest) -> bool:
    return takes_gzip(request.META.get("HTTP_ACCEPT_ENCODING", ""))


def _is_from_stranger(request: HttpRequest) -> bool:
    """Without a session and without a waiting message: both need a cookie."""
    return (
        settings.KEEP_PAGES_SECONDS > 0
        and request.method == "GET"
        and "HTTP_AUTHORIZATION" not in request.META
        and settings.SESSION_COOKIE_NAME not in request.COOKIES
        and CookieStorage.cookie_name not in request.COOKIES
    )


def _key(request: HttpRequest) -> str:
    host = str(request.META.get("HTTP_HOST", ""))
    return key_of(scheme=str(request.scheme), host=host, address=request.get_full_path())
