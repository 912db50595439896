"""Pages as readers see them: where templates break their lines says nothing, outside of preformatted text."""

import re
from collections.abc import Callable
from inspect import iscoroutinefunction
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.decorators import sync_and_async_middleware

_PREFORMATTED = re.compile(rb"(<(?P<tag>pre|textarea)\b[^>]*>)(.*?</(?P=tag)>)", re.DOTALL)


@sync_and_async_middleware
def join_lines(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """A middleware that replaces line breaks of HTML with spaces."""
    if iscoroutinefunction(get_response):

        async def answer(request: HttpRequest) -> HttpResponse:
            return _with_joined_lines(await get_response(request))

        return answer
    return lambda request: _with_joined_lines(get_response(request))


def _with_joined_lines(response: HttpResponse) -> HttpResponse:
    if response.headers.get("Content-Type", "").startswith("text/html") and not response.streaming:
        response.content = joined(response.content)
        if "Content-Length" in response.headers:
            response.headers["Content-Length"] = str(len(response.content))
    return response


def joined(page: bytes) -> bytes:
    """The page with its line breaks replaced, but for those within the content of `pre` and `textarea`."""
    done, parts = 0, []
    for found in _PREFORMATTED.finditer(page):
        parts += [_joined(page[done : found.start(3)]), found[3]]
        done = found.end()
    return b"".join([*parts, _joined(page[done:])])


def _joined(text: bytes) -> bytes:
    return re.sub(rb"\s*\n\s*", b" ", text)
