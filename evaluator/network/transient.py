"""The table of HTTP servers' errors, for all clients, and retries.

==============================  ===============  =============================================================
answer                          kind             meaning
==============================  ===============  =============================================================
408, 425                        transient        the server timed out waiting for the request, or does not
                                                 accept it yet
409                             transient        conflict with another request; not for APIs in which 409 is an
                                                 answer
429                             transient        too many requests
500 and above                   transient        the server or a gateway in front of it failed: 502 to 504, 520
                                                 to 530 (Cloudflare), 529
HTML                            transient        a page of a gateway: servers of these APIs answer in JSON
JSON `error` without the        transient        the error of a router or gateway, with status 200; a `code` in
answer                                           it is the status
402, `insufficient_quota`, ...  over quota       the account is exhausted: fails until its owner acts
`content_filter`, ...           filtered         a filter withheld request or answer
413, words about the length     too long         the prompt exceeds the model's context
other                           permanent        the request or its credentials are wrong
==============================  ===============  =============================================================

Transient errors do not depend on the content of the request, so that the same request may succeed later. They and an
exhausted account are faults of the infrastructure; the other kinds are the planner's.

`ServerError` is the error as clients report it: status, kind, and the server's own sentence.
"""

import json
import math
import random
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import StrEnum
from itertools import count
from typing import TypeVar

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import is_about_length

_CONFLICT = 409
_LOWEST_SERVER_ERROR = 500
_RATE_LIMITED = 429
_TRANSIENT = frozenset({408, _CONFLICT, 425, _RATE_LIMITED})
_OVERLOADED = frozenset({_RATE_LIMITED, 503, 529})
_PAYMENT_REQUIRED = 402
_TOO_LARGE = 413
_OVER_QUOTA = re.compile(
    r"\b(insufficient_(quota|balance|credits?|funds)|billing_(error|hard_limit_reached|not_active)|"
    r"(quota|credits?|balance) (is |are |has been |have been )?(exhausted|exceeded)|exceeded your current quota|"
    r"(credit )?balance is too low|insufficient (balance|credits?|funds|quota)|out of credits)",
    re.IGNORECASE,
)
_PER_TIME = re.compile(r"\bper[ -_](minute|second|hour|min)\b|\brate[ -_]limit", re.IGNORECASE)
"""Words of a rate limit, which some services call a quota."""
_FILTERED = re.compile(
    r"\b(content_filter(ed)?|content_policy(_violation)?|ResponsibleAIPolicyViolation|data_inspection_failed|"
    r"content management policy|content_moderation|moderation_blocked|flagged by (our |the )?moderation)\b",
    re.IGNORECASE,
)
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


def is_rate_limit(status: int) -> bool:
    """Whether a server is alive and limits the rate of requests."""
    return status == _RATE_LIMITED


def is_overload(status: int) -> bool:
    """Whether a server has too many requests, so that fewer at once may succeed."""
    return status in _OVERLOADED


class ErrorKind(StrEnum):
    """What the error of a server means; see the table."""

    TRANSIENT = "transient"
    OVER_QUOTA = "over_quota"
    FILTERED = "filtered"
    TOO_LONG = "too_long"
    PERMANENT = "permanent"

    @property
    def in_words(self) -> str:
        return self.value.replace("_", " ")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerError:
    """An error as clients report it."""

    status: int
    kind: ErrorKind
    sentence: str = ""
    """The server's own words on one line, at most 200 characters; empty if it gave none."""

    @property
    def in_short(self) -> str:
        """Without the server's words, which may name an account: `HTTP 402 (over quota)`."""
        return f"HTTP {self.status} ({self.kind.in_words})"

    def __str__(self) -> str:
        return f"{self.in_short}: {self.sentence}" if self.sentence else self.in_short


def server_error(
    status: int,
    *,
    body: bytes = b"",
    without: Callable[[str], str] = str,
    conflicts_are_answers: bool = False,
    pages_are_transient: bool = False,
) -> ServerError:
    """The error in an answer.

    Args:
        status: of HTTP.
        body: the answer or its beginning.
        without: removes secrets from the server's words.
        conflicts_are_answers: as for `is_transient`.
        pages_are_transient: for servers that answer in JSON, so that HTML comes from a gateway.
    """
    text = body.decode("utf-8", "replace")
    kind = kind_of_error(status, body=text, conflicts_are_answers=conflicts_are_answers)
    if pages_are_transient and is_html(body) and not 300 <= status < 400:
        kind = ErrorKind.TRANSIENT
    return ServerError(status=status, kind=kind, sentence=sentence_in(body, without=without))


def kind_of_error(status: int, *, body: str = "", conflicts_are_answers: bool = False) -> ErrorKind:
    """The kind of an error.

    Args:
        status: of HTTP, or that in the error of a gateway; 200 for an error without one.
        body: the answer or the error in it; its first 4,000 characters count.
        conflicts_are_answers: as for `is_transient`.
    """
    start = body[:4000]
    if status == _PAYMENT_REQUIRED or (_OVER_QUOTA.search(start) and not _PER_TIME.search(start)):
        return ErrorKind.OVER_QUOTA
    if status < _LOWEST_SERVER_ERROR and _FILTERED.search(start):
        return ErrorKind.FILTERED
    if status == _TOO_LARGE or (status in (200, 400, 422) and is_about_length(start)):
        return ErrorKind.TOO_LONG
    if status == 200 or is_transient(status, conflicts_are_answers=conflicts_are_answers):
        return ErrorKind.TRANSIENT
    return ErrorKind.PERMANENT


def status_in(value: JsonValue) -> int | None:
    """The status that the error in a JSON object names as its `code` or `status`; None if it names none."""
    error = value.get("error") if isinstance(value, Mapping) else None
    codes = [error.get("code"), error.get("status")] if isinstance(error, Mapping) else []
    numbers = [int(code) for code in codes if isinstance(code, int | str) and re.fullmatch(r"[45]\d\d", str(code))]
    return next(iter(numbers), None)


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


def sentence_in(body: bytes, *, without: Callable[[str], str] = str) -> str:
    """A server's own words in the body of an error, on one line without a full stop; empty if it gives none.

    They are those of a JSON error, its `detail`, `message` or `title`, or the first line of a text that is no HTML.

    Args:
        body: the answer or its beginning.
        without: removes secrets.
    """
    text = body.decode("utf-8", "replace").strip()
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        is_text = text[:1] not in ("", "{", "[", "<") and "\0" not in text
        words = text.splitlines()[0] if is_text else ""
    else:
        words = _words_of(value) or _described(value)
    # Before truncation, which could leave half a secret.
    return _on_one_line(without(words)).rstrip(".")


def error_in(value: JsonValue) -> str | None:
    """The error in a JSON object, as one line; None if there is none.

    Known forms are `{"error": "..."}`, `{"error": {"message": ..., "code": ...}}`, `{"errors": [...]}`,
    `{"object": "error", "message": ...}` and `{"type": "error", "message": ...}`.
    """
    words = _words_of(value)
    return None if words is None else _on_one_line(words) or "an error without a message"


def _words_of(value: JsonValue) -> str | None:
    """The words of the error in a JSON object; None if there is none."""
    if not isinstance(value, Mapping):
        return None
    error = (
        value.get("error")
        or value.get("errors")
        or (value if "error" in (value.get("object"), value.get("type")) else None)
    )
    if not error:
        return None
    if isinstance(error, list):
        error = error[0]
    if isinstance(error, Mapping):
        parts = [error.get(name) for name in ("message", "type", "code")]
        return ", ".join(
            str(part) for part in parts if isinstance(part, str | int) and str(part).strip() not in ("", "error")
        )
    return error if isinstance(error, str) else ""


def _described(value: JsonValue) -> str:
    """The words of a problem document (RFC 9457) and its like."""
    found = [value.get(name) for name in ("detail", "message", "title")] if isinstance(value, Mapping) else [value]
    return next((words for words in found if isinstance(words, str) and words.strip()), "")


def _on_one_line(words: str) -> str:
    printable = "".join(c if c.isprintable() else " " for c in words[: 4 * _LONGEST_SHOWN])
    return " ".join(printable.split())[:_LONGEST_SHOWN]
