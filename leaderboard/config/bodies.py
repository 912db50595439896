"""Bodies of requests, bounded before Django writes them to a temporary file: it takes them whole, however large.

A small body is read whoever sends it. A larger one is only read up to what its address takes, and only from a caller
whose credentials are valid; everything else is refused before it is read.
"""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from asgiref.sync import sync_to_async

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
_API = "/api/"


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyLimits:
    """How large the bodies of which requests may be, in bytes."""

    small: int
    """From anybody, at any address."""
    at_address: Callable[[Scope], int]
    """From a known caller at the request's address."""
    knows_caller: Callable[[Scope], bool]
    """Whether the head of a request has valid credentials. May ask the database; called in a thread."""


@dataclass(frozen=True, slots=True)
class _Refusal:
    status: HTTPStatus
    code: str
    detail: str


class BoundedBodies:
    """Passes on requests within the limits. Answers 413 to bodies that their address does not take, and 401 to large
    ones of unknown callers."""

    def __init__(self, application: Callable[[Scope, Receive, Send], Awaitable[None]], *, limits: BodyLimits) -> None:
        self._application = application
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        body = _CountedBody(receive, scope=scope, limits=self._limits)
        if await body.admits(_announced(scope)):
            await self._application(scope, body, send)
        if body.refusal is not None:
            await _refuse(body.refusal, scope=scope, send=send)


class _CountedBody:
    """Receives a body, and ends as if its sender had gone when it exceeds the limit."""

    def __init__(self, receive: Receive, *, scope: Scope, limits: BodyLimits) -> None:
        self.refusal: _Refusal | None = None
        self._receive, self._scope, self._limits = receive, scope, limits
        self._received, self._most = 0, limits.small

    async def __call__(self) -> dict[str, Any]:
        if self.refusal is not None:
            return {"type": "http.disconnect"}
        message = await self._receive()
        self._received += len(message.get("body", b""))
        # The application lets go of what came, and answers nothing.
        return message if await self.admits(self._received) else {"type": "http.disconnect"}

    async def admits(self, size: int) -> bool:
        """Whether a body of so many bytes is read. The caller is looked up once, and only for a large one."""
        if size <= self._most:
            return True
        self.refusal = await self._refusal(size)
        return self.refusal is None

    async def _refusal(self, size: int) -> _Refusal | None:
        most = max(self._limits.small, self._limits.at_address(self._scope))
        if size > most:
            detail = f"The body is larger than {most} bytes, the most that this address takes."
            return _Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", detail)
        if not await sync_to_async(self._limits.knows_caller, thread_sensitive=False)(self._scope):
            most = self._limits.small
            detail = f"Larger bodies than {most} bytes need valid credentials: sign in, or send a valid token."
            return _Refusal(HTTPStatus.UNAUTHORIZED, "not_authenticated", detail)
        self._most = most
        return None


def _announced(scope: Scope) -> int:
    length = dict(scope["headers"]).get(b"content-length", b"")
    # More digits than any length has would take time to read.
    return int(length[:20]) if length.isdigit() else 0


async def _refuse(refusal: _Refusal, *, scope: Scope, send: Send) -> None:
    status = refusal.status
    if scope["path"].startswith(_API):
        document = {"type": "about:blank", "title": status.phrase, "status": status.value}
        content = json.dumps({**document, "code": refusal.code, "detail": refusal.detail}).encode()
        content_type = b"application/problem+json"
    else:
        content, content_type = f"{refusal.detail}\n".encode(), b"text/plain"
    headers = [
        (b"content-type", content_type),
        (b"content-length", str(len(content)).encode()),
        (b"connection", b"close"),
    ]
    if status is HTTPStatus.UNAUTHORIZED:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status.value, "headers": headers})
    await send({"type": "http.response.body", "body": content})
