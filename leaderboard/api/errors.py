"""From the errors of the services to answers: 400 with sentences by field, 409 where the state forbids it, and 429
where the quota is used up."""

import logging
from typing import Any

from django.core.signals import got_request_exception
from rest_framework import exceptions, status
from rest_framework.response import Response
from rest_framework.views import exception_handler

from leaderboard.accounts.teams import NotAllowedError
from leaderboard.evaluations.idempotency import KeyReusedError, WrongKeyError
from leaderboard.evaluations.leases import AttemptEndedError, IncompleteError
from leaderboard.evaluations.library import NOT_READY, NotReadyError
from leaderboard.evaluations.results import ObjectsMissingError, RecordsRefusedError
from leaderboard.evaluations.services import NotPossibleError
from leaderboard.field_errors import FieldErrors
from leaderboard.quotas.services import QuotaExceededError

logger = logging.getLogger(__name__)


class TooLargeError(exceptions.APIException):
    """The body is larger than what is read."""

    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_code = "too_large"


def handle(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's exception handler, extended by the services' errors."""
    match error:
        case FieldErrors():
            return Response(error.errors, status=status.HTTP_400_BAD_REQUEST)
        case RecordsRefusedError():
            problems = [f"task {task}: {problem}" for task, problem in error.problems.items()]
            return Response({"results": problems}, status=status.HTTP_400_BAD_REQUEST)
        case ObjectsMissingError():
            body = {"detail": str(error), "code": "objects_missing", "missing": error.digests}
            return Response(body, status=status.HTTP_409_CONFLICT)
        case IncompleteError():
            body = {"detail": str(error), "code": "incomplete", "missing": error.missing}
            return Response(body, status=status.HTTP_409_CONFLICT)
        case AttemptEndedError():
            return Response({"detail": str(error), "code": error.state.value}, status=status.HTTP_409_CONFLICT)
        case WrongKeyError():
            return Response({"Idempotency-Key": [str(error)]}, status=status.HTTP_400_BAD_REQUEST)
        case KeyReusedError():
            body = {"detail": str(error), "code": "idempotency_key_reused"}
            return Response(body, status=status.HTTP_422_UNPROCESSABLE_ENTITY)
        case NotAllowedError():
            return Response({"detail": str(error), "code": "not_allowed"}, status=status.HTTP_403_FORBIDDEN)
        case NotPossibleError():
            return Response({"detail": str(error), "code": "not_possible"}, status=status.HTTP_409_CONFLICT)
        case QuotaExceededError():
            body = {
                "detail": str(error),
                "code": "quota_exceeded",
                "suite": error.suite,
                "team": error.team.slug if error.team else "",
                "limit": error.limit,
                "free_at": error.free_at.isoformat(),
            }
            headers = {"Retry-After": str(error.seconds_left())}
            return Response(body, status=status.HTTP_429_TOO_MANY_REQUESTS, headers=headers)
        case NotReadyError():
            logger.error("%s", error)
            body = {"detail": NOT_READY, "code": "not_ready"}
            return Response(body, status=status.HTTP_503_SERVICE_UNAVAILABLE)
    return exception_handler(error, context) or _unexpected(error, context)


def _unexpected(error: Exception, context: dict[str, Any]) -> Response:
    """A defect: told to the log and to Django's listeners, and answered in JSON, which is all that pipelines read."""
    request = context["request"]._request
    logger.error("%s %s failed", request.method, request.path, exc_info=error)
    got_request_exception.send(sender=None, request=request)
    body = {"detail": "Something broke on our side; please try again.", "code": "internal_error"}
    return Response(body, status=status.HTTP_500_INTERNAL_SERVER_ERROR)
