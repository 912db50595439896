"""Classification of transient answers of HTTP servers, and retries.

=========================  ==================================================================================
answer                     meaning
=========================  ==================================================================================
408, 425                   the server timed out waiting for the request, or does not accept it yet
409                        conflict with another request; not for APIs in which 409 is an answer
429                        too many requests
500 and above              the server or a gateway in front of it failed: 502 to 504, 520 to 530 (Cloudflare), 529
HTML                       a page of a gateway: servers of these APIs answer in JSON
JSON `error` without the   the error of a router or gateway, with status 200
answer
=========================  ==================================================================================

None of them depends on the content of the request, so that the same request may succeed later.
"""

import math
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from itertools import count
from typing import TypeVar

from evaluator.core.canonical_json import JsonValue

_CONFLICT = 409
_TRANSIENT = frozenset({408, _CONFLICT, 425, 429})
_LOWEST_SERVER_ERROR = 500
_LONGEST_SHOWN = 200
_SPACE = b" \t\r\n\xef\xbb\xbf"
_Result = TypeVar("_Result")


class TransientError(Exception):
    """A try failed, and another may succeed; the message is a clause."""

    def __init__(self, message: str, *, asked: float | None = None, renews: bool = False) -> None:
        """Args:
        message: what happened.
        asked: seconds from `Retry-After`, if any.
        renews: whether to restart the time limit for all tries.
        """
        super().__init__(message)
        self.asked = asked
        self.renews = renews


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Exponential backoff in seconds."""

    first: float = 0.5
    longest: float
    longest_asked: float = math.inf
    """Upper bound of `Retry-After`."""
    jitter: bool = False
    """Whether pauses are randomly shortened by up to a half, so that clients do not retry in lockstep."""

    def pause(self, tries: int, *, asked: float | None = None) -> float:
        """Seconds to wait after `tries` tries; `asked` is from `asked_to_wait`."""
        own = min(self.longest, self.first * 2.0 ** min(tries - 1, 100))
        if self.jitter:
            own *= random.uniform(0.5, 1.0)  # noqa: S311 - no secret
        return max(own, min(asked or 0.0, self.longest_asked))


def retried(
    call: Callable[[int], _Result],
    *,
    backoff: Backoff,
    tries: int | None = None,
    seconds: float | None = None,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> _Result:
    """Call a function, with retries while it raises `TransientError`.

    Args:
        call: receives the number of the try, from 1.
        backoff: pauses between tries.
        tries: most tries; None for no limit.
        seconds: time after which no try starts; None for no limit.
        sleep: waits; tests replace it.
        clock: the time in seconds.

    Raises:
        TransientError: of the last try.
    """
    until = math.inf if seconds is None else clock() + seconds
    for number in count(1):
        try:
            return call(number)
        except TransientError as error:
            if error.renews and seconds is not None:
                until = clock() + seconds
            pause = backoff.pause(number, asked=error.asked)
            if number == tries or clock() + pause > until:
                raise
        sleep(pause)
    raise AssertionError("unreachable")


def is_transient(status: int, *, conflicts_are_answers: bool = False) -> bool:
    """Whether the same request may succeed later.

    Args:
        status: of HTTP.
        conflicts_are_answers: for APIs in which 409 is an answer, such as the site's own.
    """
    if status == _CONFLICT and conflicts_are_answers:
        return False
    return status in _TRANSIENT or status >= _LOWEST_SERVER_ERROR


def asked_to_wait(headers: Mapping[str, str]) -> float | None:
    """The seconds in `Retry-After`, at least 0 and not bounded; None if it is missing or invalid.

    A date is relative to the server's `Date`, since clocks differ.
    """
    value = headers.get("Retry-After", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        try:
            now = parsedate_to_datetime(headers["Date"]).timestamp() if "Date" in headers else time.time()
            seconds = parsedate_to_datetime(value).timestamp() - now
        except (ValueError, TypeError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def is_html(body: bytes) -> bool:
    """Whether a body is an HTML page, as gateways send."""
    start = body[:4096].lstrip(_SPACE).lower()
    return start.startswith((b"<!doctype html", b"<html", b"<head", b"<!--", b"<?xml"))


def error_in(value: JsonValue) -> str | None:
    """The error in a JSON object, as one line; None if there is none.

    Known forms are `{"error": "..."}`, `{"error": {"message": ..., "code": ...}}`, `{"errors": [...]}` and
    `{"object": "error", "message": ...}`.
    """
    if not isinstance(value, Mapping):
        return None
    error = value.get("error") or value.get("errors") or (value if value.get("object") == "error" else None)
    if not error:
        return None
    if isinstance(error, list):
        error = error[0]
    if isinstance(error, Mapping):
        parts = [error.get(name) for name in ("message", "type", "code")]
        words = ", ".join(str(part) for part in parts if isinstance(part, str | int) and str(part).strip())
    else:
        words = error if isinstance(error, str) else ""
    return " ".join(words.split())[:_LONGEST_SHOWN] or "an error without a message"
