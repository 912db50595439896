"""Errors of calls to the API."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx


class ClientError(Exception):
    """A call failed."""


class UnreachableError(ClientError):
    """The site did not answer within the client's patience, or answered that it cannot at present."""


class UsageError(ClientError):
    """What was asked for cannot be; nothing was sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What the site says about a call that it refused (RFC 9457)."""

    status: int
    detail: str
    code: str = ""
    errors: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Sentences by the field that they are about."""

    def sentence(self) -> str:
        """All of it in one line."""
        fields = [f"{name}: {' '.join(texts)}" for name, texts in self.errors.items()]
        return "; ".join(fields) if fields else self.detail


class RefusedError(ClientError):
    """The site refused a call."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.sentence())
        self.problem = problem


def problem_of(response: httpx.Response) -> Problem:
    """The problem of an answer; also of one that a proxy gave, which is not JSON."""
    try:
        body = response.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        return Problem(status=response.status_code, detail=f"HTTP {response.status_code} {response.reason_phrase}")
    detail = str(body.get("detail") or body.get("title") or f"HTTP {response.status_code}")
    return Problem(
        status=response.status_code, detail=detail, code=str(body.get("code", "")), errors=_texts(body.get("errors"))
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
