"""Bodies of requests, bounded before Django writes them to a temporary file: it takes them whole, however large.

A small body is read whoever sends it. A larger one is only read up to what its address takes, only from a caller whose
credentials are valid, and the largest only while there is room; everything else is refused before it is read. Every
body must keep coming.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from asgiref.sync import sync_to_async

from leaderboard.platform.storage.disk_space import RETRY_SECONDS, DiskFullError, is_disk_full, note_failure

Receive = Callable[[], Awaitable[Mapping[str, Any]]]


class TooSlowError(Exception):
    """A body came too slowly; the message is a sentence."""


class SteadyBody:
    """Receives a body whose parts come in time."""

    def __init__(
        self,
        receive: Receive,
        *,
        patience: float,
        bytes_per_second: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Args:
        receive: where the body comes from.
        patience: seconds that it may bring nothing, and that it may be late altogether.
        bytes_per_second: the least that it brings on the average.
        """
        self._receive, self._patience, self._slowest, self._clock = receive, patience, bytes_per_second, clock
        self._began: float | None = None
        self._received = 0
        self._ended = False

    async def __call__(self) -> Mapping[str, Any]:
        """The next message.

        Raises:
            TooSlowError: it did not come in time.
        """
        if self._ended:
            # Not of the body any more: the application waits for the caller to go away.
            return await self._receive()
        if self._began is None:
            self._began = self._clock()
        left = self._began + self._patience + self._received / self._slowest - self._clock()
        try:
            if left <= 0:
                raise TimeoutError
            async with asyncio.timeout(min(self._patience, left)):
                message = await self._receive()
        except TimeoutError:
            raise TooSlowError(
                f"The body came too slowly: at least {self._slowest / 1024:g} KiB a second are needed."
            ) from None
        self._received += len(message.get("body", b""))
        self._ended = message["type"] != "http.request" or not message.get("more_body", False)
        return message


Scope = dict[str, Any]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
_PROGRAMS = ("/api/", "/mcp")
"""Addresses for programs, which get problem documents."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a body is not read."""

    status: HTTPStatus
    code: str
    detail: str
    retry_after: int = 0
    """Seconds; 0: trying again changes nothing."""


@dataclass(frozen=True, slots=True)
class Admission:
    """A body that is read."""

    release: Callable[[], None] | None = None
    """Called in a thread when the request is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyLimits:
    """How large the bodies of which requests may be, in bytes, and how slowly they may come."""

    small: Callable[[Scope], int]
    """From anybody, at the request's address."""
    at_address: Callable[[Scope], int]
    """From a known caller at the request's address."""
    admit: Callable[[Scope, int], Admission | Refusal]
    """Decides by the head of a request about a body of at most so many bytes that is not small. May ask the database;
    called in a thread."""
    patience_seconds: float
    """For so long a body may bring nothing, and be late altogether."""
    bytes_per_second: float
    """The least that a body brings on the average."""


class BoundedBodies:
    """Passes on requests within the limits. Answers 413 to bodies that their address does not take, 401 to those of
    unknown callers, 429 where there is no room for them, 408 to those that come too slowly, 503 if the disk is full."""

    def __init__(self, application: Callable[[Scope, Receive, Send], Awaitable[None]], *, limits: BodyLimits) -> None:
        self._application = application
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        body = _CountedBody(receive, scope=scope, limits=self._limits)
        try:
            if await body.admits(announced(scope)):
                await self._answered(scope, body, send)
            if body.refusal is not None:
                await refuse(body.refusal, scope=scope, send=send)
        finally:
            await body.release()

    async def _answered(self, scope: Scope, body: "_CountedBody", send: Send) -> None:
        try:
            await self._application(scope, body, send)
        except OSError as error:
            # Only spooling a body fails out here: views' errors have become answers.
            if not is_disk_full(error):
                raise
            note_failure(error)
            full = DiskFullError()
            body.refusal = Refusal(HTTPStatus(full.status), full.code, full.sentence, retry_after=RETRY_SECONDS)


class _CountedBody:
    """Receives a body, and ends as if its sender had gone when it exceeds a limit."""

    def __init__(self, receive: Receive, *, scope: Scope, limits: BodyLimits) -> None:
        self.refusal: Refusal | None = None
        self._scope, self._limits = scope, limits
        self._receive = SteadyBody(receive, patience=limits.patience_seconds, bytes_per_second=limits.bytes_per_second)
        self._received, self._most = 0, limits.small(scope)
        self._admission: Admission | None = None

    async def __call__(self) -> Mapping[str, Any]:
        if self.refusal is not None:
            return {"type": "http.disconnect"}
        try:
            message = await self._receive()
        except TooSlowError as error:
            self.refusal = Refusal(HTTPStatus.REQUEST_TIMEOUT, "too_slow", str(error))
            return {"type": "http.disconnect"}
        self._received += len(message.get("body", b""))
        # The application lets go of what came, and answers nothing.
        return message if await self.admits(self._received) else {"type": "http.disconnect"}

    async def admits(self, size: int) -> bool:
        """Whether a body of so many bytes is read. The caller is looked up once, and only for one that is not small."""
        if size <= self._most:
            return True
        self.refusal = await self._refusal(size)
        return self.refusal is None

    async def release(self) -> None:
        """The request is over."""
        if self._admission is not None and self._admission.release is not None:
            await asyncio.shield(sync_to_async(self._admission.release, thread_sensitive=False)())

    async def _refusal(self, size: int) -> Refusal | None:
        most = max(self._limits.small(self._scope), self._limits.at_address(self._scope))
        if size > most or self._admission is not None:
            detail = f"The body is larger than {self._most if self._admission else most} bytes, "
            detail += "as many as were announced." if self._admission else "the most that this address takes."
            return Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", detail)
        # Without a length it may be as large as any.
        admitted = announced(self._scope) or most
        decided = await sync_to_async(self._limits.admit, thread_sensitive=False)(self._scope, admitted)
        if isinstance(decided, Refusal):
            return decided
        self._admission, self._most = decided, admitted
        return None


def announced(scope: Scope) -> int:
    """Bytes that the head of a request says its body has; 0 if it does not say."""
    length = dict(scope["headers"]).get(b"content-length", b"")
    # More digits than any length has would take time to read.
    return int(length[:20]) if length.isdigit() else 0


async def refuse(refusal: Refusal, *, scope: Scope, send: Send) -> None:
    """Answer a request whose body is not read."""
    status = refusal.status
    if scope["path"].startswith(_PROGRAMS):
        document = {"type": "about:blank", "title": status.phrase, "status": status.value}
        content = json.dumps({**document, "code": refusal.code, "detail": refusal.detail}).encode()
        content_type = b"application/problem+json"
    else:
        content, content_type = f"{refusal.detail}\n".encode(), b"text/plain"
    headers = [
        (b"content-type", content_type),
        (b"content-length", str(len(content)).encode()),
        (b"connection", b"close"),
        (b"x-content-type-options", b"nosniff"),
        (b"content-security-policy", b"default-src 'none'"),
    ]
    if refusal.retry_after:
        headers.append((b"retry-after", str(refusal.retry_after).encode()))
    if status is HTTPStatus.UNAUTHORIZED:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status.value, "headers": headers})
    await send({"type": "http.response.body", "body": content})
