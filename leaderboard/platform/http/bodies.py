"""Limits on request bodies, enforced before Django spools them to a temporary file, which it does without any limit.

Small bodies are accepted from anyone. Larger ones are accepted only up to the limit of their URL and from authenticated
callers, and the largest only while there is room; everything else is refused before it is read. Every body must arrive
at a minimum rate.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from asgiref.sync import sync_to_async

from leaderboard.platform.http.request_ids import current_request_id
from leaderboard.platform.storage.disk_space import RETRY_SECONDS, DiskFullError, is_disk_full, note_failure

Receive = Callable[[], Awaitable[Mapping[str, Any]]]


class TooSlowError(Exception):
    """A body arrived too slowly; the message is a sentence."""


class SteadyBody:
    """Receives a body that must arrive at a minimum rate."""

    def __init__(
        self,
        receive: Receive,
        *,
        patience: float,
        bytes_per_second: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Args:
        receive: source of the body.
        patience: maximum seconds without data, and maximum total delay.
        bytes_per_second: minimum average rate.
        """
        self._receive, self._patience, self._slowest, self._clock = receive, patience, bytes_per_second, clock
        self._began: float | None = None
        self._received = 0
        self._ended = False

    async def __call__(self) -> Mapping[str, Any]:
        """The next message.

        Raises:
            TooSlowError: it did not arrive in time.
        """
        if self._ended:
            # The body is complete: the application waits for the client to disconnect.
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
                f"The body arrived too slowly: at least {self._slowest / 1024:g} KiB/s are required."
            ) from None
        self._received += len(message.get("body", b""))
        self._ended = message["type"] != "http.request" or not message.get("more_body", False)
        return message


Scope = dict[str, Any]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
_PROGRAMS = ("/api/", "/mcp")
"""Path prefixes for programs, which get problem documents."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The response to a request whose body is not read."""

    status: HTTPStatus
    code: str
    detail: str
    retry_after: int = 0
    """Seconds; 0: no header."""


@dataclass(frozen=True, slots=True)
class Admission:
    """Permission to read a body."""

    release: Callable[[], None] | None = None
    """Called in a thread at the end of the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyLimits:
    """Limits on the size of request bodies, in bytes, and on their rate."""

    small: Callable[[Scope], int]
    """Limit for anyone at the request's URL."""
    at_address: Callable[[Scope], int]
    """Limit for authenticated callers at the request's URL."""
    admit: Callable[[Scope, int], Admission | Refusal]
    """Decides about a larger body of at most so many bytes, from the request's head. May use the database; called in a
    thread."""
    patience_seconds: float
    """Maximum time without data, and maximum total delay."""
    bytes_per_second: float
    """Minimum average rate."""


class BoundedBodies:
    """Passes on requests within the limits. Otherwise answers 413 (too large for the URL), 401 (unknown caller), 429
    (no room), 408 (too slow) or 503 (disk full)."""

    def __init__(self, application: Callable[[Scope, Receive, Send], Awaitable[None]], *, limits: BodyLimits) -> None:
        self._application = application
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
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
            # Only spooling a body can fail here, since errors of views have become responses.
            if not is_disk_full(error):
                raise
            note_failure(error)
            full = DiskFullError()
            body.refusal = Refusal(HTTPStatus(full.status), full.code, full.sentence, retry_after=RETRY_SECONDS)


class _CountedBody:
    """Receives a body, and reports a disconnect when it exceeds a limit."""

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
        # On a disconnect, the application discards the body and sends no response.
        return message if await self.admits(self._received) else {"type": "http.disconnect"}

    async def admits(self, size: int) -> bool:
        """Whether a body of `size` bytes is read. The caller is looked up once, and only if it is not small."""
        if size <= self._most:
            return True
        self.refusal = await self._refusal(size)
        return self.refusal is None

    async def release(self) -> None:
        """End the request."""
        if self._admission is not None and self._admission.release is not None:
            await asyncio.shield(sync_to_async(self._admission.release, thread_sensitive=False)())

    async def _refusal(self, size: int) -> Refusal | None:
        most = max(self._limits.small(self._scope), self._limits.at_address(self._scope))
        if size > most or self._admission is not None:
            detail = f"The body is larger than {self._most if self._admission else most} bytes, "
            detail += "the announced length." if self._admission else "the maximum for this URL."
            return Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", detail)
        # Without Content-Length, assume the maximum.
        admitted = announced(self._scope) or most
        decided = await sync_to_async(self._limits.admit, thread_sensitive=False)(self._scope, admitted)
        if isinstance(decided, Refusal):
            return decided
        self._admission, self._most = decided, admitted
        return None


def announced(scope: Scope) -> int:
    """The Content-Length of a request; 0 without one."""
    length = dict(scope["headers"]).get(b"content-length", b"")
    # Parsing an excessive number of digits would take time.
    return int(length[:20]) if length.isdigit() else 0


async def refuse(refusal: Refusal, *, scope: Scope, send: Send) -> None:
    """Respond to a request whose body is not read."""
    status = refusal.status
    if scope["path"].startswith(_PROGRAMS):
        document = {"type": "about:blank", "title": status.phrase, "status": status.value}
        document |= {"code": refusal.code, "detail": refusal.detail}
        if request_id := current_request_id():
            document["request_id"] = request_id
        content = json.dumps(document).encode()
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
