"""Exception handling of the API: problem details (RFC 9457), as `application/problem+json`.

    {"type", "title", "status", "detail", "code", "request_id"?, "errors"?: {field: [sentence]}, ...}

`code` identifies the problem; `type` is the URL of its documentation; `request_id` is in the site's logs. `errors` uses
dotted names for nested fields, such as `planner.name`. Some problems have additional members, such as the quota's
`free_at`.
"""

import logging
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from types import MappingProxyType
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
from leaderboard.platform.http.request_ids import current_request_id
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
    """DRF's exception handler, extended for the services' errors."""
    request = context["request"]
    match error:
        case FieldErrors():
            return _invalid(request=request, errors=error.errors)
        case exceptions.ValidationError():
            return _invalid(request=request, errors=error.detail)
        case SuspiciousOperation():
            return _problem(request, 400, "malformed", "The body has too many parts or fields.")
        case _ if is_disk_full(error):
            note_failure(error)
            return _problem_of(DiskFullError(), request)
        case _ if is_unavailable(error):
            note_unavailable(error)
            return _problem_of(StoreUnavailableProblem(), request)
        case _ if is_database_down(error):
            logger.error("the database does not answer: %s", type(error).__name__)
            return _problem_of(DatabaseDownError(), request)
        case DataError():
            return _problem(request, 400, "unstorable", _UNSTORABLE)
        case ProblemError():
            refused.call(error)
            return _problem_of(error, request)
    response = exception_handler(error, context)
    if response is not None:
        # DRF's own errors, such as a missing row, a missing token or a method that is not allowed.
        reason = response.data.get("detail", "") if isinstance(response.data, Mapping) else ""
        code = str(getattr(reason, "code", "error"))
        return _problem(request, response.status_code, code, str(reason), headers=response.headers)
    # A defect: logged, reported to Django's listeners, and answered in JSON.
    plain = request._request
    # Quoted: a path may contain line feeds, and must not forge lines of the log.
    logger.error("%s %r failed", plain.method, plain.path, exc_info=error)
    got_request_exception.send(sender=None, request=plain)
    return _problem(request, 500, "internal_error", _BROKEN)


def _problem_of(error: ProblemError, request: Request) -> Response:
    return _problem(request, error.status, error.code, error.sentence, headers=error.headers(), **error.facts())


def _problem(
    request: Request,
    status: int,
    code: str,
    detail: str,
    *,
    headers: Mapping[str, str] = MappingProxyType({}),
    **members: Any,
) -> Response:
    body = {
        "type": request.build_absolute_uri(_TYPES),
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
        **members,
    }
    if request_id := current_request_id():
        body["request_id"] = request_id
    others = {name: value for name, value in headers.items() if name.lower() != "content-type"}
    return Response(body, status=status, headers=others, content_type=PROBLEM_CONTENT_TYPE)


def _invalid(*, request: Request, errors: Any) -> Response:
    fields = dict(by_field(errors))
    detail = "; ".join(f"{name}: {' '.join(texts)}" if name else " ".join(texts) for name, texts in fields.items())
    return _problem(request, 400, "invalid", detail, errors=fields)


def by_field(errors: Any, *, name: str = "") -> Iterator[tuple[str, list[str]]]:
    """Error messages by field, with dotted names such as `planner.name` and `lines.0.at`."""
    if isinstance(errors, Mapping):
        for key, inner in errors.items():
            inside = name if key == "non_field_errors" else ".".join(filter(None, (name, str(key))))
            yield from by_field(inner, name=inside)
    elif isinstance(errors, list) and any(isinstance(inner, Mapping | list) for inner in errors):
        yield from by_field({number: inner for number, inner in enumerate(errors) if inner}, name=name)
    else:
        yield name, [str(text) for text in (errors if isinstance(errors, list) else [errors])]
