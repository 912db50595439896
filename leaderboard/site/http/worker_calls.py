"""The calls of workers, answered in one hop to a thread.

Django's own ASGI handler enters a thread for each hook of each middleware, and makes that thread anew for each request.
Where many workers ask at once, a call then waits again and again for its turn among the threads. Here the same chain of
middlewares runs as under WSGI: from the first hook to the last in one thread, of a pool that stays.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import IO, Any, NamedTuple

from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import get_script_prefix
from django.urls import set_script_prefix

from leaderboard.site.http.spooling import SpoolingHandler

PREFIX = "/api/v1/worker/"

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]


class _Answer(NamedTuple):
    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


class WorkerCalls(SpoolingHandler):
    """Answers requests whose views are synchronous and whose answers fit into memory."""

    def __init__(self, *, threads: int) -> None:
        """Args:
        threads: how many calls are answered at the same time; the others wait for one of these.
        """
        super().__init__()
        self._threads = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="worker-calls")

    def load_middleware(self, is_async: bool = False) -> None:  # noqa: ARG002 - Django's handler asks for the other
        """Build the chain of middlewares, without changes of threads."""
        super().load_middleware(is_async=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, whose body `BoundedBodies` bounds."""
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        # A caller that goes away meanwhile is no reason to stop half-way: every call may be sent again.
        answer = await asyncio.get_running_loop().run_in_executor(self._threads, self._answer, scope, body)
        await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
        await send({"type": "http.response.body", "body": answer.body})

    def _answer(self, scope: Scope, body: IO[bytes]) -> _Answer:
        with closing(body):
            set_script_prefix(get_script_prefix(scope))
            signals.request_started.send(sender=self.__class__, scope=scope)
            request, response = self.create_request(scope, body)
            if request is not None:
                response = self.get_response(request)
            assert response is not None
            # Closing tells Django's listeners that the request is over: connections go back to the pool.
            with closing(response):
                headers = [(name.encode("ascii"), value.encode("latin1")) for name, value in response.items()]
                content = b"".join(response)
                return _Answer(status=response.status_code, headers=headers, body=content)
