"""What a cluster asks to know whether a process lives and may have requests. Neither tells anything to strangers."""

import os
from collections.abc import Callable
from pathlib import Path

from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from leaderboard.site.storage.bucket import store_problem
from leaderboard.site.storage.disk_space import full_volumes

ALIVE_FILE = "PLANARENA_ALIVE_FILE"


@never_cache
@require_safe
def live(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 - the view's signature
    """200 while the process answers. It does not ask the database: to start again would not bring that back."""
    return HttpResponse("alive\n", content_type="text/plain")


@never_cache
@require_safe
def ready(request: HttpRequest) -> HttpResponse:
    """200 if the database answers, the disks have room and the bucket takes data, else 503.

    With `?disks=0` disks and bucket do not matter: a site without room serves pages, and tells workers to keep their
    results.
    """
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return HttpResponse("no database\n", content_type="text/plain", status=503)
    if request.GET.get("disks") != "0" and (full := full_volumes()):
        return HttpResponse(f"disk full: {', '.join(full)}\n", content_type="text/plain", status=503)
    if request.GET.get("disks") != "0" and (problem := store_problem()):
        return HttpResponse(f"store: {problem}\n", content_type="text/plain", status=503)
    return HttpResponse("ready\n", content_type="text/plain")


def alive_file() -> Callable[[], None]:
    """A function that touches the file that PLANARENA_ALIVE_FILE names, for processes that no probe can ask by HTTP;
    does nothing if it names none."""
    path = os.environ.get(ALIVE_FILE, "").strip()
    return Path(path).touch if path else lambda: None
