"""An ASGI handler that runs each request in one thread.

Django's ASGI handler starts a thread for each request and switches to it for each hook of each middleware. That took a
third of a page's time, and more under load, since a request waits at every switch. Here the whole middleware chain runs
in one thread of a pool, as under WSGI.
"""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from contextvars import copy_context
from typing import IO, Any, NamedTuple

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.db import close_old_connections
from django.http import FileResponse, HttpResponseBase
from django.urls import set_script_prefix


class SpoolingHandler(ASGIHandler):
    """Django's handler, with bodies spooled to unnamed files in `FILE_UPLOAD_TEMP_DIR`, so that none is left behind.

    Django's own handler writes bodies to the system's temporary folder, which a few large forms would fill.
    """

    async def read_body(self, receive: Any) -> Any:
        """See `ASGIHandler.read_body`.

        Raises:
            RequestAborted: the client disconnected.
        """
        body = tempfile.SpooledTemporaryFile(  # noqa: SIM115 - the handler closes it
            max_size=settings.FILE_UPLOAD_MAX_MEMORY_SIZE, dir=settings.FILE_UPLOAD_TEMP_DIR
        )
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                body.close()
                raise RequestAborted
            body.write(message.get("body", b""))
            more = message.get("more_body", False)
        body.seek(0)
        return body


WORKER_CALLS = "/api/v1/worker/"
"""Path prefix of workers' calls."""

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]


class _Answer(NamedTuple):
    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


class OneHop(SpoolingHandler):
    """Handles requests of synchronous views. Streaming responses are sent by the event loop, and may be
    asynchronous."""

    def __init__(self, *, threads: int, name: str) -> None:
        """Args:
        threads: maximum number of concurrent requests; others wait.
        name: prefix of the threads' names.
        """
        super().__init__()
        self._threads = ThreadPoolExecutor(max_workers=threads, thread_name_prefix=name)

    def load_middleware(self, is_async: bool = False) -> None:  # noqa: ARG002 - Django's handler passes True
        """Build the middleware chain without thread switches."""
        super().load_middleware(is_async=False)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, whose body `BoundedBodies` limits."""
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        with closing(body):
            # Not cancelled if the client disconnects: a thread cannot be interrupted.
            run = asyncio.get_running_loop().run_in_executor
            answer = await run(self._threads, copy_context().run, self._answered, scope, body)
            if isinstance(answer, _Answer):
                await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
                await send({"type": "http.response.body", "body": answer.body})
            else:
                await self._stream(answer, receive=receive, send=send)

    def _answered(self, scope: Scope, body: IO[bytes]) -> _Answer | HttpResponseBase:
        """The rendered answer, or a response that is to be streamed."""
        set_script_prefix(get_script_prefix(scope))
        signals.request_started.send(sender=self.__class__, scope=scope)
        request, response = self.create_request(scope, body)
        if request is not None:
            response = self.get_response(request)
        assert response is not None
        response._handler_class = self.__class__  # type: ignore[attr-defined]  # as Django's handlers do
        if response.streaming:
            # The stream is generated elsewhere, with its own connections.
            close_old_connections()
            return response
        # Closing sends `request_finished`, which returns connections to the pool.
        with closing(response):
            headers = [(name.encode("ascii"), value.encode("latin1")) for name, value in response.items()]
            cookies = (cookie.output(header="").encode("ascii").strip() for cookie in response.cookies.values())
            headers += [(b"Set-Cookie", cookie) for cookie in cookies]
            return _Answer(status=response.status_code, headers=headers, body=b"".join(response))

    async def _stream(self, response: HttpResponseBase, *, receive: Receive, send: Send) -> None:
        """Send a response in chunks until it ends or the client disconnects."""
        if isinstance(response, FileResponse):
            response.block_size = self.chunk_size
        sending = asyncio.create_task(self.send_response(response, send))
        leaving = asyncio.create_task(self._until_gone(receive))
        try:
            await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            if not sending.done():
                sending.cancel()
            await asyncio.wait((sending, leaving))
            await sync_to_async(response.close)()
        if not sending.cancelled():
            # Re-raises the stream's exception.
            sending.result()

    async def _until_gone(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
