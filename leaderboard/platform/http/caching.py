"""Conditional requests, and shared caching of pages that look the same to every anonymous reader.

The ETag of a page changes with everything that the page shows. `sharing.py` decides which answers shared caches may
store. `LateParts` avoid copying the large parts of pages.
"""

import hashlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from django.conf import settings
from django.contrib.messages import get_messages
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.utils.cache import get_conditional_response
from django.utils.safestring import SafeString

from evaluator.core import canonical_json


def tagged_page(*, request: HttpRequest, parts: Sequence[object], make: Callable[[], HttpResponse]) -> HttpResponse:
    """A shareable page with its ETag, or 304 if the reader already has it.

    Args:
        request: for the page.
        parts: everything that the page shows, as JSON values.
        make: renders the page.
    """
    tag = page_tag(request=request, parts=parts)
    response = not_modified(request=request, tag=tag) or make()
    if tag:
        response.headers["ETag"] = tag
    return shareable(response)


def page_tag(*, request: HttpRequest, parts: Sequence[object]) -> str | None:
    """The ETag of a page that shows `parts` (JSON values) to this reader, whose name is in the header; None if the page
    contains a message, which is shown once."""
    if len(get_messages(request)):
        return None
    reader = request.user.pk if request.user.is_authenticated else None
    address = request.get_full_path()
    return f'"{canonical_json.digest([reader, address, static("app.css"), _release(), list(parts)])[:32]}"'


def not_modified(*, request: HttpRequest, tag: str | None) -> HttpResponse | None:
    """304 if the reader already has the page with this tag."""
    return get_conditional_response(request, etag=tag) if tag else None


@cache
def _release() -> str:
    """Digest of the templates, since an upgrade changes pages with the same data."""
    texts = hashlib.sha256()
    for path in sorted(path for folder in settings.TEMPLATES[0]["DIRS"] for path in folder.rglob("*.html")):
        texts.update(path.read_bytes())
    return texts.hexdigest()


def shareable(response: HttpResponse) -> HttpResponse:
    """Mark a page that looks the same to every anonymous reader."""
    response.is_shareable = True  # type: ignore[attr-defined]  # read by `sharing.py`
    return response


class LateParts:
    """Large parts of a page, cached as bytes and inserted after the rest has been rendered.

    Django's nested templates copy their whole content at each level: the rows of a board were copied eight times and
    encoded once more for each reader, which took longer than the rest of the page.
    """

    def __init__(self) -> None:
        # Random, so that no content of a page can contain it.
        self._mark = f"<!--{secrets.token_hex(12)} "
        self._parts: list[Sequence[bytes]] = []

    def add(self, parts: Sequence[bytes]) -> SafeString:
        """A placeholder for these consecutive parts."""
        self._parts.append(parts)
        return SafeString(f"{self._mark}{len(self._parts) - 1}-->")

    def filled(self, page: str) -> bytes:
        """The page with the placeholders replaced."""
        first, *others = page.split(self._mark)
        pieces = [first.encode()]
        for other in others:
            number, _, text = other.partition("-->")
            pieces += [*self._parts[int(number)], text.encode()]
        return b"".join(pieces)


def render_late(request: HttpRequest, template: str, context: Mapping[str, Any]) -> HttpResponse:
    """`render` for pages with `{% keptfor %}` tables, which use `late` of the context."""
    late = LateParts()
    return HttpResponse(late.filled(render_to_string(template, {**context, "late": late}, request)))
