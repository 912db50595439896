"""Addresses as requests have them: without their last slash, and those that no page can do anything with."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponseBase
from django.urls import is_valid_path

from leaderboard.platform.http.bodies import Receive, Scope, Send

Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_ANSWERS_ITSELF = "/api/"


_READING = frozenset({"GET", "HEAD", "OPTIONS"})


def keep_method(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Middleware without which a redirect turns a POST into a GET, since clients repeat it so and lose its body.

    Addresses without their last slash are answered where Django would redirect: all of the API, and whatever is sent
    to pages. Other permanent redirects of what changes something, such as to HTTPS, are 308.
    """

    def answer(request: HttpRequest) -> HttpResponseBase:
        path, changes = request.path_info, request.method not in _READING
        if not path.endswith("/") and (changes or path.startswith(_ANSWERS_ITSELF)) and _lacks_slash(path):
            request.path, request.path_info = f"{request.path}/", f"{path}/"
        response: HttpResponseBase = get_response(request)
        if changes and response.status_code == HTTPStatus.MOVED_PERMANENTLY:
            response.status_code = HTTPStatus.PERMANENT_REDIRECT
        return response

    return answer


def _lacks_slash(path: str) -> bool:
    return not is_valid_path(path) and bool(is_valid_path(f"{path}/"))


def api_with_slash(application: Application) -> Application:
    """ASGI middleware that does the same for the API, before the parts that go by the path of a request."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(_ANSWERS_ITSELF) and not scope["path"].endswith("/"):
            scope = {**scope, "path": f"{scope['path']}/", "raw_path": (scope.get("raw_path") or b"") + b"/"}
        await application(scope, receive, send)

    return answer


def refuse_nul(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Middleware that answers 400 to an address with a NUL character: PostgreSQL takes none, so that each page which
    looks something up by a part of its address would break. The API says it in its own words."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        _check(request)
        response: HttpResponseBase = get_response(request)
        return response

    return answer


def _check(request: HttpRequest) -> None:
    holds_nul = "\x00" in request.path_info or "%00" in request.META.get("QUERY_STRING", "")
    if holds_nul and not request.path_info.startswith(_ANSWERS_ITSELF):
        raise BadRequest("The address holds a NUL character.")
