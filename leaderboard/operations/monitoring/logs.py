"""Logs of the site and its queue, with ids of requests, without secrets and without repeated tracebacks."""

import logging
import time
import traceback
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import cache
from logging import Formatter
from typing import Any

from django.http import HttpRequest, HttpResponseBase

from gpu_jobs.logs.lines import formatter as formatter_of
from gpu_jobs.logs.lines import named, present_ids
from leaderboard.platform.http.request_ids import HEADER, known_request_id, request_id_of
from leaderboard.platform.secret_keys import known_secrets

_ARGUMENTS = {"evaluation_id": "evaluation", "attempt_id": "attempt"}
"""Arguments of URLs, with the names of the ids in log lines."""
_QUIET_SECONDS = 600.0
_request: ContextVar[HttpRequest | None] = ContextVar("request", default=None)


def formatter(form: str) -> Formatter:
    """The formatter for `LOGGING`."""
    return formatter_of(form, redact=lambda text: _redactor()(text), ids=_ids)


class RepeatedFailures(logging.Filter):
    """Drops tracebacks of Celery tasks that were logged within the last ten minutes, for example for the previous row
    or run of a periodic task. The next one that is logged has the number of dropped ones.

    Failures are equal if task, message without arguments, type of exception and lines of the stack are equal.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock`: monotonic clock in seconds."""
        super().__init__()
        self._clock = clock
        self._seen: dict[object, tuple[float, int]] = {}
        """When each failure was last logged, and how often it has occurred since."""

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
    """Middleware that adds each request's id (`platform/http/request_ids.py`) to its log lines and its response."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        known = known_request_id(getattr(request, "scope", {}))
        request_id = known or request_id_of(request.headers.get(HEADER, ""))
        with named(request=request_id):
            token = _request.set(request)
            try:
                response: HttpResponseBase = get_response(request)
            finally:
                _request.reset(token)
        response.headers[HEADER] = request_id
        return response

    return answer


def _ids() -> Mapping[str, str]:
    ids = dict(present_ids())
    request = _request.get()
    if request is not None and request.resolver_match is not None:
        arguments = request.resolver_match.kwargs
        ids.update({name: str(arguments[argument]) for argument, name in _ARGUMENTS.items() if argument in arguments})
    return ids


@cache
def _redactor() -> Callable[[str], str]:
    # Imported lazily, because it imports Pydantic and the result records.
    from gpu_jobs.redaction import Redactor

    return Redactor(secrets=known_secrets())
