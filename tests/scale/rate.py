"""How many requests a process of the site answers in a second of processor time. Needs the environment of an
installation."""

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import psutil

from tests.processes import Program, free_port

_STARTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What several readers ask for again and again, each with a connection of their own that stays open."""

    name: str
    address: Callable[[int], str]
    """The path with its query of the n-th request."""
    cookie: str = ""
    """Of a session; empty: nobody is signed in."""
    has_page: bool = False
    """Whether readers send the ETag of the first answer, so that 304 is the right answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """What was measured of one kind of request."""

    name: str
    path: str
    """Of the first request."""
    per_cpu_second: float
    """Requests in a second of the process's time, of the user and of the system; without PostgreSQL's."""
    per_second: float
    first_ms: float
    """The first request of a process that has answered none."""
    median_ms: float
    p95_ms: float
    wrong: int
    """Answers with another status than 200, or 304 where the readers have the page."""


def always(path: str) -> Callable[[int], str]:
    """The same address each time."""
    return lambda _: path


def rates(*, asked: Sequence[Asked], seconds: float, readers: int = 16) -> Iterator[Rate]:
    """Ask a uvicorn process of its own for each: once, and then again and again."""
    for one in asked:
        with _server() as (process, port):
            readings = _Readings(asked=one, port=port)
            yield asyncio.run(readings.rate(process=process, seconds=seconds, readers=readers))


def start_seconds() -> list[float]:
    """Processor time of several new processes that only set Django up, in seconds, the least first.

    The first process, which may have to compile modules, does not count.
    """
    command = [sys.executable, "-c", "import django; django.setup()"]
    found = []
    for _ in range(_STARTS + 1):
        before = os.times()
        subprocess.run(command, check=True)
        after = os.times()
        found.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return sorted(found[1:])


@contextmanager
def _server() -> Iterator[tuple[psutil.Process, int]]:
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "leaderboard.wiring.asgi:application", "--port", str(port)]
    with tempfile.TemporaryDirectory() as folder:
        command += ["--log-level", "warning", "--no-access-log"]
        program = Program(command, log=Path(folder) / "site.log")
        try:
            program.wait_for(lambda: _answers(port), what="the site answers", seconds=60)
            yield psutil.Process(program.process.pid), port
        finally:
            program.stop()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class _Readings:
    """The requests to one process, all of one kind."""

    def __init__(self, *, asked: Asked, port: int) -> None:
        self._asked, self._port = asked, port
        self._numbers = count()
        self._etag = b""
        self._times: list[float] = []
        self._wrong = 0

    async def rate(self, *, process: psutil.Process, seconds: float, readers: int) -> Rate:
        """Ask once, and then as often as the process answers for so many seconds."""
        await self._read(until=0.0)
        [first], self._times = self._times, []
        # What a process makes once is no part of its rate.
        await self._read(until=time.perf_counter() + seconds / 10)
        self._times = []
        begun, begun_cpu = time.perf_counter(), sum(process.cpu_times()[:2])
        await asyncio.gather(*[self._read(until=begun + seconds) for _ in range(readers)])
        lasted, used = time.perf_counter() - begun, sum(process.cpu_times()[:2]) - begun_cpu
        times = sorted(self._times)
        return Rate(
            name=self._asked.name, path=self._asked.address(0), per_cpu_second=len(times) / max(used, 0.01),
            per_second=len(times) / lasted, first_ms=first * 1000, median_ms=times[len(times) // 2] * 1000,
            p95_ms=times[int(len(times) * 0.95)] * 1000, wrong=self._wrong,
        )  # fmt: skip

    async def _read(self, *, until: float) -> None:
        """Ask at least once on a connection of its own."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        is_first = True
        while is_first or time.perf_counter() < until:
            is_first = False
            conditional = self._etag if self._asked.has_page else b""
            begun = time.perf_counter()
            writer.write(self._request(conditional))
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(_header(head, name=b"content-length") or 0))
            self._times.append(time.perf_counter() - begun)
            self._etag = _header(head, name=b"etag")
            self._wrong += not head.startswith(b"HTTP/1.1 304" if conditional else b"HTTP/1.1 200")
        writer.close()

    def _request(self, conditional: bytes) -> bytes:
        lines = [f"GET {self._asked.address(next(self._numbers))} HTTP/1.1", f"Host: 127.0.0.1:{self._port}"]
        lines.append("Accept-Encoding: gzip")
        if self._asked.cookie:
            lines.append(f"Cookie: {self._asked.cookie}")
        if conditional:
            lines.append(f"If-None-Match: {conditional.decode()}")
        return "".join(f"{line}\r\n" for line in [*lines, ""]).encode()


def _header(head: bytes, *, name: bytes) -> bytes:
    """The value of a header; empty if there is none."""
    lines = (line.partition(b":") for line in head.split(b"\r\n"))
    return next((value.strip() for key, _, value in lines if key.lower() == name), b"")
