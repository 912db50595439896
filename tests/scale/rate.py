"""How many requests a second one process of the site answers over HTTP. Needs the environment of an installation."""

import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

_START_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """One address, asked for by several readers who keep their connections and are not signed in."""

    path: str
    per_second: float
    first_ms: float
    """The first request of a process that has answered none."""
    median_ms: float
    p95_ms: float
    not_200: int


def rates(*, paths: Sequence[str], seconds: float, readers: int = 16) -> Iterator[Rate]:
    """Ask a uvicorn process of its own for each address: once, and then again and again."""
    for path in paths:
        with _server() as port:
            yield asyncio.run(_rate(port=port, path=path, seconds=seconds, readers=readers))


@contextmanager
def _server() -> Iterator[int]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "leaderboard.wiring.asgi:application", "--port", str(port)]
    process = subprocess.Popen([*command, "--log-level", "warning", "--no-access-log"])
    try:
        _wait_for(port=port, process=process)
        yield port
    finally:
        process.terminate()
        process.wait(timeout=30)


def _wait_for(*, port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError("the site did not start")


async def _rate(*, port: int, path: str, seconds: float, readers: int) -> Rate:
    [first], _ = await _read(port=port, path=path, until=0.0)
    begun = time.perf_counter()
    found = await asyncio.gather(*[_read(port=port, path=path, until=begun + seconds) for _ in range(readers)])
    lasted = time.perf_counter() - begun
    times = sorted(one for times, _ in found for one in times)
    return Rate(
        path=path, per_second=len(times) / lasted, first_ms=first * 1000, median_ms=times[len(times) // 2] * 1000,
        p95_ms=times[int(len(times) * 0.95)] * 1000, not_200=sum(wrong for _, wrong in found),
    )  # fmt: skip


async def _read(*, port: int, path: str, until: float) -> tuple[list[float], int]:
    """Times of the requests of one connection, at least one, and how many were not answered with 200."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept-Encoding: gzip\r\n\r\n".encode()
    times, wrong = [], 0
    while not times or time.perf_counter() < until:
        begun = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]
        await reader.readexactly(int(length))
        times.append(time.perf_counter() - begun)
        wrong += not head.startswith(b"HTTP/1.1 200")
    writer.close()
    return times, wrong
