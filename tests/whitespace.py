"""Pages as readers see them: where templates break their lines says nothing, outside of preformatted text."""

import re
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse

_PREFORMATTED = re.compile(rb"(<(?P<tag>pre|textarea)\b[^>]*>)(.*?</(?P=tag)>)", re.DOTALL)


class JoinLines:
    """A middleware that replaces line breaks of HTML with spaces."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._get_response(request)
        is_page = response.headers.get("Content-Type", "").startswith("text/html")
        if is_page and not isinstance(response, StreamingHttpResponse):
            response.content = joined(response.content)
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
