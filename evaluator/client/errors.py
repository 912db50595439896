"""Errors of calls to the API."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from evaluator.network.transient import server_error

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")


class ClientError(Exception):
    """A call failed."""


class UnreachableError(ClientError):
    """The site did not answer within the client's patience, or is unavailable at present."""


class UsageError(ClientError):
    """Invalid options or arguments; nothing was sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """The problem document of a refused call (RFC 9457)."""

    status: int
    detail: str
    code: str = ""
    errors: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Sentences by field."""
    request_id: str = ""
    """Finds the call in the logs of the site; empty if the answer has none."""

    def sentence(self) -> str:
        """The errors of all fields, or the detail, in one line."""
        fields = [f"{name}: {' '.join(texts)}" for name, texts in self.errors.items()]
        return "; ".join(fields) if fields else self.detail


class RefusedError(ClientError):
    """The site refused a call."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.sentence())
        self.problem = problem


def problem_of(response: httpx.Response) -> Problem:
    """The problem in an answer; also in answers of proxies, which are not JSON."""
    # From a stranger's server: only a plain id is shown.
    given = response.headers.get("X-Request-ID", "")
    request_id = given if _REQUEST_ID.fullmatch(given) else ""
    try:
        body = response.json()
    except ValueError:
        body = None
    error = str(server_error(response.status_code, body=response.content, conflicts_are_answers=True))
    if not isinstance(body, dict):
        return Problem(status=response.status_code, detail=error, request_id=request_id)
    return Problem(
        status=response.status_code,
        detail=str(body.get("detail") or body.get("title") or error),
        code=str(body.get("code", "")),
        errors=_texts(body.get("errors")),
        request_id=request_id,
    )


def problem_in(body: Mapping[str, Any]) -> Problem:
    """The problem of a job that failed."""
    status = body.get("status")
    return Problem(
        status=status if isinstance(status, int) else 500,
        detail=str(body.get("detail") or "it failed"),
        code=str(body.get("code", "")),
        errors=_texts(body.get("errors")),
    )


def _texts(errors: Any) -> dict[str, list[str]]:
    if not isinstance(errors, dict):
        return {}
    return {str(name): [str(text) for text in texts] for name, texts in errors.items() if isinstance(texts, list)}
