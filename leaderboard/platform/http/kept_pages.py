"""Pages for strangers that a process keeps, to show them while the database does not answer.

Only pages that shared caches may store are kept. One that nobody has read shortly before the outage is not shown: what
was withdrawn from it since is unknown.
"""

import math
import time
from datetime import timedelta
from html import escape
from http import HTTPStatus
from threading import Lock
from typing import NamedTuple

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils import timezone
from django.utils.formats import date_format

from leaderboard.platform.lru_cache import SharedCache
from leaderboard.platform.probes import DATABASE

MOST_BYTES = 32 * 2**20
"""Of all kept pages of a process with their addresses and headers, uncompressed."""
MOST_SECONDS = 300.0
"""From the last time that a page was made to the beginning of the outage."""
OLDEST_SECONDS = 3600.0
"""Largest age of a page. Without it, a process that alone has lost the database would show old pages for ever."""
_LONGEST_ADDRESS = 300
_NOTICE = b"<!-- notice -->"
"""Where a page says that it is old, in `base.html`."""
_NOT_KEPT = frozenset({"ETag", "Cache-Control", "Set-Cookie", "Content-Length"})
_Key = tuple[str, str, str]


class _Page(NamedTuple):
    body: bytes
    headers: dict[str, str]
    made: float
    """`time.monotonic()`"""
    size: int
    """Bytes that it takes, about."""


class _Outage:
    """When the database last stopped answering, as far as this process has noticed."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._began: float | None = None

    def began(self) -> float | None:
        """`time.monotonic()` of the beginning; None while the database answers. Asks it again if it did not."""
        problem = DATABASE.result()
        with self._lock:
            if not problem:
                self._began = None
            elif self._began is None:
                self._began = time.monotonic()
            return self._began

    def end(self) -> None:
        """The database has answered."""
        with self._lock:
            self._began = None

    def may_go_on(self) -> bool:
        """Whether the last answer known here was none; asks nobody."""
        return self._began is not None or bool(DATABASE.last())


_pages: SharedCache[_Key, _Page] = SharedCache(maxsize=MOST_BYTES, size_of=lambda page: page.size)
_outage = _Outage()


def keep(*, request: HttpRequest, response: HttpResponseBase) -> None:
    """Keep a page that any stranger may see.

    Not kept are HEAD requests, streams, large pages, and addresses with a query, of which a stranger could make up so
    many that no board would be left.
    """
    _outage.end()
    if request.method != "GET" or response.status_code != HTTPStatus.OK or not isinstance(response, HttpResponse):
        return
    key = _key(request)
    if request.META.get("QUERY_STRING") or sum(map(len, key)) > _LONGEST_ADDRESS:
        return
    headers = {name: value for name, value in response.items() if name not in _NOT_KEPT}
    words = (*key, *headers, *headers.values())
    size = len(response.content) + sum(map(len, words))
    if size <= MOST_BYTES // 4:
        _pages.put(key, _Page(body=response.content, headers=headers, made=time.monotonic(), size=size))


def is_database_away() -> bool:
    """Whether the database did not answer when it was last asked; asks nobody."""
    return _outage.may_go_on()


def kept_page(request: HttpRequest) -> HttpResponse | None:
    """The kept page for a stranger's request while the database does not answer, which is asked; otherwise None."""
    page = _pages.get(_key(request))
    if page is None or (began := _outage.began()) is None or began - page.made > MOST_SECONDS:
        return None
    if (age := time.monotonic() - page.made) > OLDEST_SECONDS:
        return None
    # Elsewhere than in HTML the same characters may be a stranger's text.
    is_html = page.headers.get("Content-Type", "").startswith("text/html")
    body = page.body.replace(_NOTICE, _notice(age), 1) if is_html else page.body
    response = HttpResponse(body, headers=page.headers)
    response.headers["Age"] = str(math.ceil(age))
    response.headers["Cache-Control"] = "no-store"
    response.headers["Cache-Status"] = 'planarena; hit; detail="the database does not answer"'
    return response


def _notice(age: float) -> bytes:
    made = timezone.now() - timedelta(seconds=age)
    text = f"The site's database does not answer. This page dates from {date_format(made, 'H:i:s')} UTC."
    return f'<p class="notice warning" role="status">{escape(text)}</p>'.encode()


def _key(request: HttpRequest) -> _Key:
    accepted = request.headers.get("Accept", "")
    # Pages have one form, whatever browsers prefer; answers of the API have several.
    form = accepted if request.path_info.startswith("/api/") else ""
    return f"{request.scheme}://{request.get_host()}", request.get_full_path(), form
