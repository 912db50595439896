"""What a chat endpoint's answer means: a completion, a failure, or a reason to try again."""

import logging
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

import httpx

from evaluator.planners.language_models.protocol import (
    Answer,
    Failure,
    FailureKind,
    Usage,
)

logger = logging.getLogger(__name__)


MAX_PAUSE_SECONDS = 60.0
"""The longest `Retry-After` that is honoured in full."""


_RETRIED_STATUSES = frozenset({408, 409, 425, 429})


_OVERLOAD_STATUSES = frozenset({429, 503, 529})


@dataclass(frozen=True, slots=True)
class Retry:
    """The try failed, and another may succeed."""

    why: str
    too_much: bool
    """Whether it failed because the endpoint has too many calls."""
    after: float | None = None
    """Seconds that the endpoint asks to wait."""
    is_alive: bool = False
    """Whether it answered, and only does not want so many calls."""
    received: str | None = None

    def __str__(self) -> str:
        return self.why


class WrongAnswerError(ValueError):
    """The answer is JSON, but not what the protocol says."""


def read_contents(value: object) -> tuple[str, str | None, Usage | None]:
    """The text, why it ended, and the usage if it is reported."""
    if not isinstance(value, dict):
        raise WrongAnswerError("is no JSON object")
    choices = value.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise WrongAnswerError('has no "choices"')
    message = choices[0].get("message")
    if not isinstance(message, dict):
        raise WrongAnswerError('has no "message" in its first choice')
    text, finish = message.get("content"), choices[0].get("finish_reason")
    if text is None and finish == "content_filter":
        text = ""
    if not isinstance(text, str):
        raise WrongAnswerError('has no text as "content" of its message')
    return text, finish if isinstance(finish, str) else None, _usage(value.get("usage"))


def _usage(value: object) -> Usage | None:
    if not isinstance(value, dict):
        return None
    prompt, completion = value.get("prompt_tokens"), value.get("completion_tokens")
    for count in (prompt, completion):
        if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count < 2**31:
            return None
    return Usage(prompt_tokens=int(prompt or 0), completion_tokens=int(completion or 0))


def read_status(response: httpx.Response, *, shown: str) -> Failure | Retry | None:
    """What a status other than 200 means."""
    status = response.status_code
    if status == httpx.codes.OK:
        return None
    if status in _RETRIED_STATUSES or status >= 500:
        return Retry(
            f"it answered HTTP {status}",
            too_much=status in _OVERLOAD_STATUSES,
            after=retry_after(response.headers),
            received=shown,
            is_alive=status == httpx.codes.TOO_MANY_REQUESTS,
        )
    if 300 <= status < 400:
        message = (
            f"The chat endpoint answered HTTP {status}, a redirect, which is not followed; give the final address."
        )
    else:
        message = f"The chat endpoint answered HTTP {status}."
    return Failure(kind=FailureKind.REFUSED, message=message, received=shown)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that an answer asks to wait, between 0 and `MAX_PAUSE_SECONDS`; None where it asks for nothing."""
    value = headers.get("Retry-After", "")
    try:
        seconds = float(value)
    except ValueError:
        try:
            # By the endpoint's own clock, if it says what that shows.
            now = parsedate_to_datetime(headers["Date"]).timestamp() if "Date" in headers else time.time()
            seconds = parsedate_to_datetime(value).timestamp() - now
        except (ValueError, TypeError, OverflowError):
            return None
    return min(max(0.0, seconds), MAX_PAUSE_SECONDS) if math.isfinite(seconds) else None


def unavailable(problem: Retry, *, tries: int) -> Failure:
    message = f"The chat endpoint was unavailable in {tries} {'try' if tries == 1 else 'tries'}; the last: {problem}."
    return Failure(kind=FailureKind.UNAVAILABLE, message=message, tries=max(1, tries), received=problem.received)


def with_tries(answer: Answer | Failure, *, tries: int) -> Answer | Failure:
    if not isinstance(answer, Failure):
        return answer
    return Failure(kind=answer.kind, message=answer.message, tries=tries, received=answer.received)
