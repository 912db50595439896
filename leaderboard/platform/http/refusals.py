"""Pages for addresses that only take forms, and for views that fail.

Django refuses a visit with an empty 405, for which browsers show a page of their own, as if the site were broken.
"""

import sys
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.template.loader import render_to_string
from django.views.defaults import server_error

from leaderboard.platform.database_down import is_database_down
from leaderboard.platform.storage.bucket import is_unavailable, note_unavailable
from leaderboard.platform.storage.disk_space import RETRY_SECONDS, is_disk_full, note_failure


def explain_refused_methods(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Middleware that gives an empty 405 a page, for who asks for pages. The API's answers have a body of their own."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        response: HttpResponseBase = get_response(request)
        return _explained(request, response) if _is_mute(request, response) else response

    return answer


def _is_mute(request: HttpRequest, response: HttpResponseBase) -> bool:
    refused = response.status_code == HTTPStatus.METHOD_NOT_ALLOWED
    return refused and not getattr(response, "content", b"") and "text/html" in request.headers.get("Accept", "")


def _explained(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    page = render(request, "405.html", status=HTTPStatus.METHOD_NOT_ALLOWED)
    page["Allow"] = response["Allow"]
    return page


def view_failed(request: HttpRequest) -> HttpResponseBase:
    """The page for a view that raised: 503 if the database or the store does not answer or the disk is full, else 500.
    Called while the exception is handled."""
    error = sys.exc_info()[1]
    if error is not None and is_database_down(error):
        # Who asks is in the database, too.
        why = {"title": "Database unavailable", "heading": "The site's database does not answer"}
        response = HttpResponse(render_to_string("503.html", why), status=HTTPStatus.SERVICE_UNAVAILABLE)
        response["Retry-After"] = str(RETRY_SECONDS)
        return response
    if error is not None and is_disk_full(error):
        note_failure(error)
        why = {"title": "Disk full", "heading": "The site's disk is full"}
    elif error is not None and is_unavailable(error):
        note_unavailable(error)
        why = {"title": "Store unavailable", "heading": "The site's object store does not answer"}
    else:
        return server_error(request)
    page = render(request, "503.html", why, status=HTTPStatus.SERVICE_UNAVAILABLE)
    page["Retry-After"] = str(RETRY_SECONDS)
    return page
