"""The server's store, and the public address of its artefacts."""

from functools import cache
from pathlib import Path

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotModified
from django.views.decorators.http import require_safe

from evaluator.engine.store import LocalStore, ObjectDamagedError, ObjectMissingError, Store
from evaluator.values import MediaType


def server_store() -> Store:
    """Where artefacts and records are kept."""
    return _store(settings.STORE_DIR)


@cache
def _store(path: Path) -> Store:
    return LocalStore(path)


@require_safe
def artefact(request: HttpRequest, digest: str) -> HttpResponse:
    """One artefact: `GET /objects/<digest>`. It can never change, so browsers may keep it for ever."""
    etag = f'"{digest}"'
    if request.headers.get("If-None-Match") == etag:
        return HttpResponseNotModified()
    try:
        found = server_store().get(digest)
    except (ObjectMissingError, ObjectDamagedError) as error:
        raise Http404("There is no such artefact.") from error
    response = HttpResponse(found.data, content_type=MediaType(found.media_type).value)
    response["Cache-Control"] = "public, max-age=31536000, immutable"
    response["ETag"] = etag
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Disposition"] = "inline"
    # Whatever a text says, a browser that opens it runs nothing.
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return response
