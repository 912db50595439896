"""What no page can do anything with, refused before it reaches one."""

from collections.abc import Callable
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponseBase

_ANSWERS_ITSELF = "/api/"


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
