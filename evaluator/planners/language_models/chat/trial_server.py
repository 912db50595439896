"""A chat endpoint for trials: fixed latency and answer, limited concurrency. Its process imports only this module."""

import asyncio
import json
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

_REASONS = {200: "OK", 429: "Too Many Requests", 503: "Service Unavailable"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Behaviour of the endpoint."""

    latency_seconds: float = 0.2
    capacity: int = 64
    """Concurrent calls; another is refused at once."""
    refusal: int = 429
    retry_after: float | None = None
    """Seconds in the `Retry-After` of a refusal."""
    answer: str = "Image Denoising"


class ChatServer:
    """A context manager that serves on 127.0.0.1."""

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self.running = self.most = self.answered = self.refused = 0
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> "ChatServer":
        self._server = await asyncio.start_server(self._connection, "127.0.0.1", 0, backlog=1024)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()

    @property
    def url(self) -> str:
        """Base address of the endpoint."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                await self._call(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _call(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line.partition(b":")[2]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")
        )
        await reader.readexactly(length)
        if self.running >= self.settings.capacity:
            self.refused += 1
            self._send(writer, status=self.settings.refusal, body=b"{}")
        else:
            self.running += 1
            self.most = max(self.most, self.running)
            try:
                await asyncio.sleep(self.settings.latency_seconds)
            finally:
                self.running -= 1
            self.answered += 1
            choice = {"message": {"role": "assistant", "content": self.settings.answer}, "finish_reason": "stop"}
            body = {"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 2}}
            self._send(writer, status=200, body=json.dumps(body).encode())
        await writer.drain()

    def _send(self, writer: asyncio.StreamWriter, *, status: int, body: bytes) -> None:
        after = self.settings.retry_after
        wait = f"Retry-After: {after:g}\r\n" if status != 200 and after is not None else ""
        head = f"HTTP/1.1 {status} {_REASONS.get(status, 'Error')}\r\nContent-Length: {len(body)}\r\n{wait}\r\n"
        writer.write(head.encode() + body)


@contextmanager
def serving(settings: ServerSettings) -> Iterator[str]:
    """Run a `ChatServer` in its own process. Yields its base address."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(settings, there), daemon=True)
    process.start()
    try:
        if not here.poll(60.0):
            raise RuntimeError("the endpoint for trials did not start")
        yield here.recv()
    finally:
        process.terminate()
        process.join()


def _serve(settings: ServerSettings, pipe: Any) -> None:
    async def serve() -> None:
        async with ChatServer(settings) as server:
            pipe.send(server.url)
            await asyncio.Event().wait()

    asyncio.run(serve())
