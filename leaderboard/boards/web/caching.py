"""Conditional requests for pages: an ETag over everything that the page shows."""

import hashlib
from collections.abc import Sequence
from functools import cache

from django.conf import settings
from django.contrib.messages import get_messages
from django.http import HttpRequest, HttpResponse
from django.templatetags.static import static
from django.utils.cache import get_conditional_response, patch_cache_control, patch_vary_headers

from evaluator.core import canonical_json


def page_tag(*, request: HttpRequest, parts: Sequence[object]) -> str | None:
    """The ETag of a page that shows `parts` (JSON values) to this reader; None if it may not be reused.

    The reader counts because the header names them, and a waiting message because it is shown once.
    """
    if len(get_messages(request)):
        return None
    reader = request.user.pk if request.user.is_authenticated else None
    address = request.get_full_path()
    return f'"{canonical_json.digest([reader, address, static("app.css"), _release(), list(parts)])[:32]}"'


def not_modified(*, request: HttpRequest, tag: str | None) -> HttpResponse | None:
    """304 if the reader has the page with this tag already."""
    answer = get_conditional_response(request, etag=tag) if tag else None
    return with_tag(response=answer, tag=tag) if answer else None


def with_tag(*, response: HttpResponse, tag: str | None) -> HttpResponse:
    """The response, to be kept by the reader's browser only and asked for again each time."""
    if tag:
        response.headers["ETag"] = tag
    patch_cache_control(response, private=True, no_cache=True)
    patch_vary_headers(response, ["Cookie"])
    return response


@cache
def _release() -> str:
    """Digest of the templates: an upgrade changes pages although their data stays."""
    texts = hashlib.sha256()
    for path in sorted(path for folder in settings.TEMPLATES[0]["DIRS"] for path in folder.rglob("*.html")):
        texts.update(path.read_bytes())
    return texts.hexdigest()
