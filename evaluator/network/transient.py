"""Which answers of HTTP servers are the infrastructure's, and how calls are tried again: one table, and one loop.

=========================  ==================================================================================
answer                     what it means
=========================  ==================================================================================
408, 425                   the server did not wait for, or not yet take, the request
409                        another request was in the way; not for APIs that give 409 a meaning of their own
429                        too many requests
500 and above              the server or a gateway in front of it failed: 502 to 504, 520 to 530 (Cloudflare), 529
HTML                       a page of a gateway: servers of these APIs speak JSON
JSON `error` without the   a router's or gateway's error inside 200
answer
=========================  ==================================================================================

None of them says anything about what was asked, so that the same request may succeed later.
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
    """A try failed, and another may succeed; the message is part of a sentence."""

    def __init__(self, message: str, *, asked: float | None = None, renews: bool = False) -> None:
        """Args:
        message: what happened.
        asked: seconds that the answer asks to wait; None: it does not.
        renews: whether the time for all tries begins again.
        """
        super().__init__(message)
        self.asked = asked
        self.renews = renews


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Pauses between tries in seconds: each twice as long as the one before."""

    first: float = 0.5
    longest: float
    longest_asked: float = math.inf
    """Of what `Retry-After` asks for."""
    jitter: bool = False
    """Whether pauses are shortened by up to a half, so that clients that lost a server at one moment do not all come
    back at one moment."""

    def pause(self, tries: int, *, asked: float | None = None) -> float:
        """Seconds to wait after so many tries.

        Args:
            tries: at least 1.
            asked: as `asked_to_wait` returns it.
        """
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
    """What a call returns, tried again while it raises `TransientError`.

    Args:
        call: receives the number of the try, from 1.
        backoff: pauses between tries.
        tries: at most; None: no limit.
        seconds: no try begins later; None: no limit.
        sleep: how to wait; tests give their own.
        clock: the time in seconds.

    Raises:
        TransientError: that of the last try.
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
    raise AssertionError("numbers do not end")


def is_transient(status: int, *, conflicts_are_answers: bool = False) -> bool:
    """Whether the same request may succeed later.

    Args:
        status: of HTTP.
        conflicts_are_answers: for APIs in which 409 answers the request, such as the site's own.
    """
    if status == _CONFLICT and conflicts_are_answers:
        return False
    return status in _TRANSIENT or status >= _LOWEST_SERVER_ERROR


def asked_to_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds that `Retry-After` asks to wait, at least 0; None where it is absent or neither of its two forms.

    Callers bound it. A date counts from the server's own `Date`, since clocks differ.

    Args:
        headers: of the answer; names in any case if the mapping allows it, as those of httpx and urllib3 do.
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
    """Whether a body is a page, as gateways answer."""
    start = body[:4096].lstrip(_SPACE).lower()
    return start.startswith((b"<!doctype html", b"<html", b"<head", b"<!--", b"<?xml"))


def error_in(value: JsonValue) -> str | None:
    """The error that a JSON object reports instead of an answer, as one line; None where it reports none.

    Known are `{"error": "..."}`, `{"error": {"message": ..., "code": ...}}`, `{"errors": [...]}` and
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
