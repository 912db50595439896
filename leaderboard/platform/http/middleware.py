"""Middleware for paths and methods, and the pages for refused requests and failed views."""

import sys
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import is_valid_path
from django.views.defaults import server_error

from leaderboard.platform.database import is_database_down
from leaderboard.platform.http.bodies import Receive, Scope, Send
from leaderboard.platform.storage.bucket import is_unavailable, note_unavailable
from leaderboard.platform.storage.disk_space import RETRY_SECONDS, is_disk_full, note_failure


def explain_refused_methods(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Middleware that adds a page to Django's empty 405 responses, which browsers would show as a broken site. Only for
    clients that accept HTML; responses of the API have a body."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        response: HttpResponseBase = get_response(request)
        if response.status_code != HTTPStatus.METHOD_NOT_ALLOWED or getattr(response, "content", None):
            return response
        if "text/html" not in request.headers.get("Accept", ""):
            return response
        page = render(request, "405.html", status=HTTPStatus.METHOD_NOT_ALLOWED)
        page["Allow"] = response["Allow"]
        return page

    return answer


def view_failed(request: HttpRequest) -> HttpResponseBase:
    """The page for a view that raised: 503 if the database or the store does not answer or the disk is full, else 500.
    Called while the exception is handled."""
    error = sys.exc_info()[1]
    if error is not None and is_database_down(error):
        # Rendered without the request, since the session and the user are in the database too.
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


Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_API = "/api/"
_READING = frozenset({"GET", "HEAD", "OPTIONS"})


def keep_method(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Middleware that prevents redirects of unsafe requests, which clients would follow with a GET without the body.

    Paths without the trailing slash are handled directly instead of redirected, for the API and for unsafe requests to
    pages. Other permanent redirects of unsafe requests, such as to HTTPS, become 308.
    """

    def answer(request: HttpRequest) -> HttpResponseBase:
        path, changes = request.path_info, request.method not in _READING
        lacks_slash = not path.endswith("/") and (changes or path.startswith(_API))
        if lacks_slash and not is_valid_path(path) and is_valid_path(f"{path}/"):
            request.path, request.path_info = f"{request.path}/", f"{path}/"
        response: HttpResponseBase = get_response(request)
        if changes and response.status_code == HTTPStatus.MOVED_PERMANENTLY:
            response.status_code = HTTPStatus.PERMANENT_REDIRECT
        return response

    return answer


def api_with_slash(application: Application) -> Application:
    """ASGI middleware that adds the trailing slash to paths of the API, for ASGI middleware that matches paths."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(_API) and not scope["path"].endswith("/"):
            scope = {**scope, "path": f"{scope['path']}/", "raw_path": (scope.get("raw_path") or b"") + b"/"}
        await application(scope, receive, send)

    return answer


def refuse_nul(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Middleware that answers 400 to URLs with a NUL character, which PostgreSQL rejects, so that pages would fail when
    they look up a part of their URL. The API has its own error."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        has_nul = "\x00" in request.path_info or "%00" in request.META.get("QUERY_STRING", "")
        if has_nul and not request.path_info.startswith(_API):
            raise BadRequest("The URL contains a NUL character.")
        response: HttpResponseBase = get_response(request)
        return response

    return answer
