"""Answers of the cluster's API server: JSON, or the error that its status means."""

import json
from typing import Any

from evaluator.network.transient import is_transient
from gpu_jobs.launchers.kubernetes.reasons import is_about_quota

Json = dict[str, Any]


_CONFLICT = "Conflict"
"""Reason of a Status. The other 409 is `AlreadyExists`."""


class ClusterError(Exception):
    """The API server could not be asked, or refused; the message is part of a sentence."""


class ClusterUnreachableError(ClusterError):
    """No usable answer within the time for it."""


class ClusterRefusedError(ClusterError):
    """It refuses, and would again until somebody changes something."""

    def __init__(self, *, status: int, message: str) -> None:
        self.status = status
        self.message = message
        """The cluster's own words."""
        super().__init__(f"the cluster answered {status}: {message}")


class QuotaExceededError(ClusterRefusedError):
    """A ResourceQuota of the namespace is used up: it may be taken when others have ended."""


class AlreadyThereError(ClusterError):
    """Something of this name exists."""


class ConflictError(ClusterError):
    """Others changed something at the same moment, or a precondition does not hold."""


class ExpiredError(ClusterError):
    """The server has forgotten what this list or watch would go on from: begin again."""


def may_heal(*, method: str, status: int, data: bytes) -> bool:
    """Whether the same request may succeed in a moment. A create meets a conflict when others take from the same quota
    at that moment; a delete only if its precondition does not hold."""
    if status == 409 and method != "DELETE":
        return _status_object(data).get("reason") == _CONFLICT
    return is_transient(status, conflicts_are_answers=True)


def error_text(*, status: int, data: bytes) -> str:
    message = str(_status_object(data).get("message", "")).strip()
    return f"HTTP {status}: {message}" if message else f"HTTP {status}"


def checked(*, status: int, data: bytes) -> Json:
    if 200 <= status < 300:
        return parsed(data)
    raise _error(status=status, body=_status_object(data))


def _status_object(data: bytes) -> Json:
    """The Status in the body of an error. A proxy in between speaks HTML; then there is none."""
    try:
        return parsed(data)
    except ClusterError:
        return {}


def _error(*, status: int, body: Json) -> ClusterError:
    message = str(body.get("message", "")).strip() or "no message"
    if status == 409:
        return ConflictError(message) if body.get("reason") == _CONFLICT else AlreadyThereError(message)
    if status == 403 and is_about_quota(message):
        return QuotaExceededError(status=status, message=message)
    if status == 410:
        return ExpiredError(message)
    if is_transient(status, conflicts_are_answers=True):
        return ClusterUnreachableError(f"the cluster's API does not answer ({status}: {message})")
    return ClusterRefusedError(status=status, message=message)


def parsed(data: bytes) -> Json:
    try:
        found = json.loads(data or b"{}")
    except ValueError as error:
        raise ClusterError("the cluster's API answered with something that is not JSON") from error
    return found if isinstance(found, dict) else {}
