"""Logs of the site and its queue: which request a line is of, and no secret in it."""

import re
import secrets
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import cache
from logging import Formatter
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from gpu_jobs.logs.lines import formatter as formatter_of
from gpu_jobs.logs.lines import named, present_ids
from leaderboard.site.known_secrets import known_secrets

HEADER = "X-Request-ID"
_WELL_FORMED = re.compile(r"[A-Za-z0-9._-]{8,64}")
_ARGUMENTS = {"evaluation_id": "evaluation", "attempt_id": "attempt"}
"""Of addresses, by what they identify."""
_request: ContextVar[HttpRequest | None] = ContextVar("request", default=None)


def formatter(form: str) -> Formatter:
    """The formatter of the site's processes; see `LOGGING`."""
    return formatter_of(form, redact=lambda text: _redactor()(text), ids=_ids)


def name_requests(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Middleware that gives each request an id: in the lines of its log, and in the header X-Request-ID.

    A proxy that is trusted may have given one.
    """

    def answer(request: HttpRequest) -> HttpResponseBase:
        with named(request=_id_of(request)):
            token = _request.set(request)
            try:
                response: HttpResponseBase = get_response(request)
            finally:
                _request.reset(token)
            return _told(response)

    return answer


def _id_of(request: HttpRequest) -> str:
    given = request.headers.get(HEADER, "") if settings.TRUST_PROXY else ""
    return given if _WELL_FORMED.fullmatch(given) else secrets.token_hex(8)


def _told(response: HttpResponseBase) -> HttpResponseBase:
    response.headers[HEADER] = present_ids()["request"]
    return response


def _ids() -> Mapping[str, str]:
    ids = dict(present_ids())
    request = _request.get()
    if request is not None and request.resolver_match is not None:
        given = request.resolver_match.kwargs
        ids.update({name: str(given[argument]) for argument, name in _ARGUMENTS.items() if argument in given})
    return ids


@cache
def _redactor() -> Callable[[str], str]:
    # Pydantic and all that results are made of: only for processes that log something.
    from gpu_jobs.redaction import Redactor

    return Redactor(secrets=known_secrets())
