"""Logs of the site and its queue: which request a line is of, no secret in it, and no flood of equal tracebacks."""

import logging
import re
import secrets
import time
import traceback
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import cache
from logging import Formatter
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from gpu_jobs.logs.lines import formatter as formatter_of
from gpu_jobs.logs.lines import named, present_ids
from leaderboard.platform.secret_keys import known_secrets

HEADER = "X-Request-ID"
_WELL_FORMED = re.compile(r"[A-Za-z0-9._-]{8,64}")
_ARGUMENTS = {"evaluation_id": "evaluation", "attempt_id": "attempt"}
"""Of addresses, by what they identify."""
_QUIET_SECONDS = 600.0
_request: ContextVar[HttpRequest | None] = ContextVar("request", default=None)


def formatter(form: str) -> Formatter:
    """The formatter of the site's processes; see `LOGGING`."""
    return formatter_of(form, redact=lambda text: _redactor()(text), ids=_ids)


class RepeatedFailures(logging.Filter):
    """Drops a traceback of a Celery task that was logged within the last ten minutes: the same failure of the next row,
    or of the next run of a periodic task. The first one after that says how many were dropped.

    Failures are the same if task, message without its arguments, type of exception and lines of the stack are.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Args:
        clock: seconds.
        """
        super().__init__()
        self._clock = clock
        self._seen: dict[object, tuple[float, int]] = {}
        """Of each failure, when it was logged last, and how often it has occurred since."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is logged."""
        task = present_ids().get("task")
        if task is None or not record.exc_info or record.exc_info[0] is None:
            return True
        lines = tuple((frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(record.exc_info[2]))
        failure = (task, record.name, record.msg, record.exc_info[0], lines)
        logged, dropped = self._seen.get(failure, (float("-inf"), 0))
        now = self._clock()
        if now - logged < _QUIET_SECONDS:
            self._seen[failure] = (logged, dropped + 1)
            return False
        self._seen[failure] = (now, 0)
        if dropped:
            record.msg, record.args = f"{record.getMessage()} ({dropped} more like this since it was last logged)", ()
        return True


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
