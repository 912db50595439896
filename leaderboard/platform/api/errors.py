"""From the errors of the services to answers: problem details (RFC 9457), as `application/problem+json`.

    {"type", "title", "status", "detail", "code", "errors"?: {field: [sentence]}, ...}

`code` is the same in short as `type`, the address of its explanation. `errors` names fields as they are nested in the
body, `planner.name`. Some problems say more, such as the quota's `free_at`.
"""

import logging
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from django.core.exceptions import SuspiciousOperation
from django.core.signals import got_request_exception
from django.db import DataError
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import exception_handler

from leaderboard.platform.api.examples import PROBLEM_CONTENT_TYPE
from leaderboard.platform.database import DatabaseDownError, is_database_down
from leaderboard.platform.problems import FieldErrors, ProblemError, refused
from leaderboard.platform.storage.bucket import StoreUnavailableProblem, is_unavailable, note_unavailable
from leaderboard.platform.storage.disk_space import DiskFullError, is_disk_full, note_failure

_TYPES = "/docs/#problems"
_BROKEN = "Internal error. Try again later."
_UNSTORABLE = (
    "The request contains a value that cannot be stored, such as a NUL character or a number that is too large."
)

logger = logging.getLogger(__name__)


def handle(error: Exception, context: dict[str, Any]) -> Response:
    """DRF's exception handler, extended by the services' errors: every problem is answered in one shape."""
    request = context["request"]
    headers: dict[str, str] = {}
    match error:
        case FieldErrors():
            return _invalid(request=request, errors=error.errors)
        case exceptions.ValidationError():
            return _invalid(request=request, errors=error.detail)
        case SuspiciousOperation():
            found = _Found(400, "malformed", "The body has too many parts or fields.")
        case _ if is_disk_full(error):
            note_failure(error)
            full = DiskFullError()
            found, headers = _Found(full.status, full.code, full.sentence), dict(full.headers())
        case _ if is_unavailable(error):
            note_unavailable(error)
            away = StoreUnavailableProblem()
            found, headers = _Found(away.status, away.code, away.sentence), dict(away.headers())
        case _ if is_database_down(error):
            logger.error("the database does not answer: %s", type(error).__name__)
            down = DatabaseDownError()
            found, headers = _Found(down.status, down.code, down.sentence), dict(down.headers())
        case DataError():
            found = _Found(400, "unstorable", _UNSTORABLE)
        case ProblemError():
            refused.call(error)
            found = _Found(error.status, error.code, error.sentence, **error.facts())
            headers = dict(error.headers())
        case _:
            answer = exception_handler(error, context)
            found = _of_framework(answer) if answer is not None else _unexpected(error=error, request=request)
            headers = dict(answer.headers) if answer is not None else {}
    return problem(request=request, found=found, headers=headers)


class _Found:
    """What is wrong."""

    def __init__(self, status_code: int, code: str, detail: str, **more: Any) -> None:
        self.status, self.code, self.detail, self.more = status_code, code, detail, more


def problem(*, request: Request, found: _Found, headers: Mapping[str, str]) -> Response:
    """The answer that says it."""
    body = {
        "type": request.build_absolute_uri(_TYPES),
        "title": HTTPStatus(found.status).phrase,
        "status": found.status,
        "detail": found.detail,
        "code": found.code,
        **found.more,
    }
    kept = {name: value for name, value in headers.items() if name.lower() != "content-type"}
    return Response(body, status=found.status, headers=kept, content_type=PROBLEM_CONTENT_TYPE)


def _invalid(*, request: Request, errors: Any) -> Response:
    fields = dict(by_field(errors))
    detail = "; ".join(f"{name}: {' '.join(texts)}" if name else " ".join(texts) for name, texts in fields.items())
    return problem(request=request, found=_Found(400, "invalid", detail, errors=fields), headers={})


def by_field(errors: Any, *, name: str = "") -> Iterator[tuple[str, list[str]]]:
    """Sentences by field, whose names are joined with dots, as in `planner.name` and `lines.0.at`."""
    if isinstance(errors, Mapping):
        for key, inner in errors.items():
            inside = name if key == "non_field_errors" else ".".join(filter(None, (name, str(key))))
            yield from by_field(inner, name=inside)
    elif isinstance(errors, list) and any(isinstance(inner, Mapping | list) for inner in errors):
        yield from by_field({number: inner for number, inner in enumerate(errors) if inner}, name=name)
    else:
        yield name, [str(text) for text in (errors if isinstance(errors, list) else [errors])]


def _of_framework(answer: Response) -> _Found:
    """What DRF found, such as a missing row, a missing token or a method that there is not."""
    detail = answer.data.get("detail", "") if isinstance(answer.data, Mapping) else ""
    return _Found(answer.status_code, str(getattr(detail, "code", "error")), str(detail))


def _unexpected(*, error: Exception, request: Request) -> _Found:
    """A defect: told to the log and to Django's listeners, and answered in JSON, which is all that pipelines read."""
    plain = request._request
    # As Python writes it: an address may hold line feeds, and must not write lines of its own into the log.
    logger.error("%s %r failed", plain.method, plain.path, exc_info=error)
    got_request_exception.send(sender=None, request=plain)
    return _Found(500, "internal_error", _BROKEN)
