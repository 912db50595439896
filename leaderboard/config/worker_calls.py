"""The calls of workers, answered in one hop to a thread.

Django's own ASGI handler enters a thread for each hook of each middleware, and makes that thread anew for each request.
Where many workers ask at once, a call then waits again and again for its turn among the threads. Here the same chain of
middlewares runs as under WSGI: from the first hook to the last in one thread, of a pool that stays.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import IO, Any, NamedTuple

from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.urls import set_script_prefix

PREFIX = "/api/v1/worker/"

_TOO_LARGE = json.dumps({
    "type": "about:blank", "title": "Request Entity Too Large", "status": 413, "code": "too_large",
    "detail": "The body is larger than anything that a worker sends.",
}).encode()  # fmt: skip

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class _Answer(NamedTuple):
    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


class WorkerCalls(ASGIHandler):
    """Answers requests whose views are synchronous and whose answers fit into memory."""

    def __init__(self, *, threads: int, most_bytes: int) -> None:
        """Args:
        threads: how many calls are answered at the same time; the others wait for one of these.
        most_bytes: the largest body that is read. It is read before anybody looks who calls.
        """
        super().__init__()
        self._most_bytes = most_bytes
        self._threads = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="worker-calls")

    def load_middleware(self, is_async: bool = False) -> None:  # noqa: ARG002 - Django's handler asks for the other
        """Build the chain of middlewares, without changes of threads."""
        super().load_middleware(is_async=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if _announced(scope) > self._most_bytes:
            await _refuse(send)
            return
        counted = _Counted(receive, most_bytes=self._most_bytes)
        try:
            body = await self.read_body(counted)
        except RequestAborted:
            if counted.is_too_much:
                await _refuse(send)
            return
        # A caller that goes away meanwhile is no reason to stop half-way: every call may be sent again.
        answer = await asyncio.get_running_loop().run_in_executor(self._threads, self._answer, scope, body)
        await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
        await send({"type": "http.response.body", "body": answer.body})

    def _answer(self, scope: Scope, body: IO[bytes]) -> _Answer:
        with closing(body):
            set_script_prefix(get_script_prefix(scope))
            signals.request_started.send(sender=self.__class__, scope=scope)
            request, refused = self.create_request(scope, body)
            response = self.get_response(request) if request is not None else refused
            # Closing tells Django's listeners that the request is over: connections go back to the pool.
            with closing(response):
                headers = [(name.encode("ascii"), value.encode("latin1")) for name, value in response.items()]
                return _Answer(status=response.status_code, headers=headers, body=b"".join(response))


class _Counted:
    """Receives a body, and ends as if its sender had gone when it becomes too large."""

    def __init__(self, receive: Receive, *, most_bytes: int) -> None:
        self._receive = receive
        self._left = most_bytes

    @property
    def is_too_much(self) -> bool:
        return self._left < 0

    async def __call__(self) -> dict[str, Any]:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        return {"type": "http.disconnect"} if self.is_too_much else message


def _announced(scope: Scope) -> int:
    """How many bytes the body has, if the caller says it."""
    length = dict(scope["headers"]).get(b"content-length", b"")
    # Of more digits than any body's length the first tell enough.
    return int(length[:20]) if length.isdigit() else 0


async def _refuse(send: Send) -> None:
    headers = [(b"content-type", b"application/problem+json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": _TOO_LARGE})
