"""Many connections at once in one event loop, without the cost of httpcore's own bookkeeping."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpcore


class ConnectionLanes(httpcore.AsyncConnectionPool):
    """A pool of pools with one connection each.

    httpcore's own pool looks at every connection and every request that waits whenever a request begins or ends: with a
    hundred connections that takes longer than the requests themselves.
    """

    def __init__(self, *, ssl_context: ssl.SSLContext, backend: httpcore.AsyncNetworkBackend, count: int) -> None:
        super().__init__()
        self._lanes = [
            httpcore.AsyncConnectionPool(
                ssl_context=ssl_context, network_backend=backend, max_connections=1, keepalive_expiry=10
            )
            for _ in range(count)
        ]
        self._free = [*self._lanes]
        self._places = asyncio.Semaphore(count)

    async def handle_async_request(self, request: httpcore.Request) -> httpcore.Response:
        await self._places.acquire()
        lane = self._free.pop()
        try:
            response = await lane.handle_async_request(request)
        except BaseException:
            self._give_back(lane)
            raise
        stream = _LaneStream(response.stream, done=lambda: self._give_back(lane))
        return httpcore.Response(
            status=response.status, headers=response.headers, content=stream, extensions=response.extensions
        )

    async def aclose(self) -> None:
        for lane in self._lanes:
            await lane.aclose()

    def _give_back(self, lane: httpcore.AsyncConnectionPool) -> None:
        # The lane that was used last is taken first: its connection is open.
        self._free.append(lane)
        self._places.release()


class _LaneStream:
    """A response's body, after which the lane is free again."""

    def __init__(self, stream: Any, *, done: Callable[[], None]) -> None:
        self._stream = stream
        self._done: Callable[[], None] | None = done

    def __aiter__(self) -> AsyncIterator[bytes]:
        iterator: AsyncIterator[bytes] = self._stream.__aiter__()
        return iterator

    async def aclose(self) -> None:
        try:
            await self._stream.aclose()
        finally:
            done, self._done = self._done, None
            if done is not None:
                done()
