"""Interprets a service's response: an answer, a failure, a refused parameter, or a reason to retry."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import httpx

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Answer, Failure, FailureKind
from evaluator.network.transient import (
    ErrorKind,
    asked_to_wait,
    error_in,
    is_html,
    is_overload,
    is_rate_limit,
    kind_of_error,
    status_in,
)
from evaluator.planners.language_models.chat.parameters import Refusal

MAX_PAUSE_SECONDS = 60.0
"""A longer `Retry-After` is reduced to this."""
SHOWN = 2000
"""Characters of an answer in an error report."""
_WRONG_REQUEST = (400, 422)
_OVERLOADED = re.compile(r"overloaded|rate[_ ]limit|too many requests|capacity", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Retry:
    """A failed try after which another may succeed."""

    why: str
    too_much: bool
    """Whether the endpoint was overloaded."""
    after: float | None = None
    """Seconds of the endpoint's `Retry-After`."""
    is_alive: bool = False
    """Whether the endpoint answered, only to limit the rate."""
    received: str | None = None

    def __str__(self) -> str:
        return self.why


@dataclass(frozen=True, slots=True)
class Refused:
    """The service refuses the request, perhaps for one of its parameters."""

    refusal: Refusal
    failure: Failure
    """Of the call if no other parameters help."""


def parsed(text: str) -> JsonValue:
    """The text as JSON; None if it is none."""
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def read_status(response: httpx.Response, *, text: str, value: JsonValue) -> Failure | Refused | Retry | None:
    """The meaning of a status and its body; None: the body may be an answer.

    Args:
        response: its status and headers.
        text: the body without secrets.
        value: the same as JSON; None if it is none, or if the status is 200.
    """
    status = response.status_code
    is_redirect = 300 <= status < 400
    if is_html(text[:4096].encode("utf-8", "replace")) and not is_redirect:
        return _retry(response, f"it answered HTTP {status} with an HTML page, as gateways do", text=text)
    if status == httpx.codes.OK:
        return None
    if is_redirect:
        message = (
            f"The chat endpoint answered HTTP {status}, a redirect, which is not followed; give the final address."
        )
        return Failure(kind=FailureKind.REFUSED, message=message, received=text[:SHOWN])
    return _read_error(status, value=value, response=response, text=text)


def read_error(value: Mapping[str, JsonValue], *, why: str, response: httpx.Response) -> Failure | Refused | Retry:
    """The meaning of an error with status 200.

    Args:
        value: the answer that has the error, without secrets.
        why: a clause for the reason of a retry.
        response: its headers.
    """
    text = json.dumps(value, ensure_ascii=False)
    status = status_in(dict(value)) or 200
    found = _read_error(status, value=dict(value), response=response, text=text)
    return replace(found, why=f"its answer {why}") if isinstance(found, Retry) else found


def _read_error(status: int, *, value: JsonValue, response: httpx.Response, text: str) -> Failure | Refused | Retry:
    sentence = (error_in(value) or "").rstrip(".")
    said = f"HTTP {status}: {sentence}" if sentence else f"HTTP {status}"
    kind, shown = kind_of_error(status, body=text), text[:SHOWN]
    if kind is ErrorKind.TRANSIENT:
        return _retry(response, f"it answered {said}", text=text, status=status)
    if kind is ErrorKind.OVER_QUOTA:
        message = f"The account at the chat endpoint is over its quota; it answered {said}."
        return Failure(kind=FailureKind.UNAVAILABLE, message=message, received=shown)
    if kind is ErrorKind.FILTERED:
        message = f"The chat endpoint's filter withheld the answer: {said}."
        return Failure(kind=FailureKind.REFUSED, message=message, received=shown)
    if kind is ErrorKind.TOO_LONG:
        detail = f" ({sentence})" if sentence else ""
        message = f"The chat endpoint answered HTTP {status}: the prompt is too long for its model{detail}."
        return Failure(kind=FailureKind.PROMPT_TOO_LONG, message=message, received=shown)
    failure = Failure(kind=FailureKind.REFUSED, message=f"The chat endpoint answered {said}.", received=shown)
    if status not in _WRONG_REQUEST:
        return Refused(Refusal(text=""), failure)
    return Refused(Refusal(text=_message_in(value) or text, value=value), failure)


def _retry(response: httpx.Response, why: str, *, text: str, status: int | None = None) -> Retry:
    status = response.status_code if status is None else status
    after = asked_to_wait(response.headers)
    return Retry(
        why,
        too_much=is_overload(status) or (status == httpx.codes.OK and bool(_OVERLOADED.search(text[:4000]))),
        after=None if after is None else min(after, MAX_PAUSE_SECONDS),
        received=text[:SHOWN],
        is_alive=is_rate_limit(status),
    )


def _message_in(value: JsonValue) -> str:
    error = value.get("error") if isinstance(value, Mapping) else None
    message = error.get("message") if isinstance(error, Mapping) else None
    return message if isinstance(message, str) else ""


def unavailable(problem: Retry, *, tries: int) -> Failure:
    message = f"The chat endpoint was unavailable in {tries} {'try' if tries == 1 else 'tries'}; the last: {problem}."
    return Failure(kind=FailureKind.UNAVAILABLE, message=message, tries=max(1, tries), received=problem.received)


def with_tries(answer: Answer | Failure, *, tries: int) -> Answer | Failure:
    return replace(answer, tries=tries) if isinstance(answer, Failure) else answer
