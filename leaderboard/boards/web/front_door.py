"""Serves cached pages before Django sees the request.

Unusual requests (a session cookie, an address with escapes, a condition other than `If-None-Match`) go to Django, which
serves the same cache (`page_cache.py`).
"""

import re
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage

from leaderboard.boards.web.page_cache import KeptPage, kept_page, key_of, takes_gzip

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_PLAIN = re.compile(rb"[A-Za-z0-9/_.~-]*")
"""Paths that are their own encoding."""
_PLAIN_QUERY = re.compile(rb"[A-Za-z0-9/_.~=&%+,:-]*")
_ONCE = frozenset({b"host", b"if-none-match", b"accept-encoding", b"x-forwarded-proto"})
_OF_UNCHANGED = frozenset(
    {b"cache-control", b"content-location", b"date", b"etag", b"expires", b"last-modified", b"vary"}
)
"""Headers that a 304 repeats (RFC 9110, section 15.4.5)."""
_OTHERS = frozenset({b"authorization", b"if-match", b"if-modified-since", b"if-unmodified-since", b"if-range"})


class _Answer(NamedTuple):
    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


class FrontDoor:
    """ASGI middleware, outside all others."""

    def __init__(self, site: Application, *, note: Callable[[str, float], None]) -> None:
        """Args:
        site: answers everything else.
        note: is told the view and the seconds of each page that is answered here.
        """
        self._site = site
        self._note = note
        names = (settings.SESSION_COOKIE_NAME, CookieStorage.cookie_name)
        self._cookies = tuple(name.encode() for name in names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer from memory, or let the site answer."""
        began = time.perf_counter()
        headers = _headers(scope)
        page = None if headers is None or self._has_cookie(headers) else _page(scope, headers)
        answer = None if headers is None or page is None else _answer(page, headers)
        if answer is None or page is None:
            await self._site(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
        await send({"type": "http.response.body", "body": answer.body})
        self._note(page.match.view_name if page.match else "none", time.perf_counter() - began)

    def _has_cookie(self, headers: Mapping[bytes, bytes]) -> bool:
        sent = headers.get(b"cookie", b"")
        return any(name in sent for name in self._cookies)


def _headers(scope: Scope) -> Mapping[bytes, bytes] | None:
    """The headers of a plain GET request; None for any other one."""
    if scope["type"] != "http" or scope["method"] != "GET" or scope.get("root_path"):
        return None
    headers: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in _OTHERS or (name in _ONCE and name in headers):
            return None
        headers[name] = headers[name] + b"; " + value if name in headers else value
    return headers


def _page(scope: Scope, headers: Mapping[bytes, bytes]) -> KeptPage | None:
    path, query = scope.get("raw_path") or b"", scope["query_string"]
    if not _PLAIN.fullmatch(path) or not _PLAIN_QUERY.fullmatch(query):
        return None
    address = path.decode() + (f"?{query.decode()}" if query else "")
    host = headers.get(b"host", b"").decode("latin-1")
    page = kept_page(key_of(scheme=_scheme(scope, headers), host=host, address=address))
    # Django renews a page that is too old.
    return page if page is not None and page.is_fresh() else None


def _scheme(scope: Scope, headers: Mapping[bytes, bytes]) -> str:
    """As Django finds it."""
    if settings.SECURE_PROXY_SSL_HEADER and (told := headers.get(b"x-forwarded-proto")) is not None:
        return "https" if told.split(b",", 1)[0].strip() == b"https" else "http"
    return str(scope.get("scheme", "http"))


def _answer(page: KeptPage, headers: Mapping[bytes, bytes]) -> _Answer | None:
    """The whole page, or 304 for who has it; None where that is for Django to say."""
    packed = takes_gzip(headers.get(b"accept-encoding", b"").decode("latin-1"))
    whole = _whole(page.headers, packed=packed, size=len(page.packed if packed else page.content))
    asked = headers.get(b"if-none-match")
    if asked is None:
        return _Answer(200, whole, page.packed if packed else page.content)
    tag = next((value for name, value in whole if name == b"etag"), None)
    # Lists of tags and other ways to write one are left to Django.
    if tag is None or asked.removeprefix(b"W/") != tag.removeprefix(b"W/"):
        return None
    return _Answer(304, [(name, value) for name, value in whole if name in _OF_UNCHANGED], b"")


@lru_cache(maxsize=400)
def _whole(headers: tuple[tuple[str, str], ...], *, packed: bool, size: int) -> list[tuple[bytes, bytes]]:
    """The headers of a page as ASGI sends them."""
    response = KeptPage(b"", b"", headers, None, 0.0).response(packed=packed)
    if "Content-Length" in response.headers:
        response.headers["Content-Length"] = str(size)
    return [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in response.headers.items()]
