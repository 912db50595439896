"""Servers that answer every request in a way that should cost their caller memory or time."""

import gzip
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache

from tests.fakes.serving import accepting, request_of

Answer = Callable[[socket.socket], None]
BOMB_BYTES = 128 * 1024 * 1024
"""What a bomb becomes when its two layers are unpacked."""
_OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
_LONGEST_SECONDS = 20.0
"""After which a server gives up, so that a test whose client does not is slow and fails."""


@dataclass
class HostileServer:
    """Where it is, and the requests that it received."""

    url: str
    requests: list[bytes] = field(default_factory=list)


@contextmanager
def hostile_server(answer: Answer) -> Iterator[HostileServer]:
    """A server on this machine that answers each connection with `answer`, once."""
    found = HostileServer(url="")

    def serve(connection: socket.socket) -> None:
        head, body = request_of(connection)
        found.requests.append(head + b"\r\n\r\n" + body)
        answer(connection)

    with accepting(serve) as port:
        found.url = f"http://127.0.0.1:{port}"
        yield found


def answers(*, body: bytes, status: str = "200 OK", **headers: str) -> Answer:
    """A whole answer; `_` in the name of a header stands for `-`."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    head = "\r\n".join(lines).encode() + b"\r\n\r\n"
    return lambda connection: connection.sendall(head + body)


@cache
def gzip_bomb() -> Answer:
    """A kilobyte or so that is compressed twice; made once, which takes a second."""
    inner = gzip.compress(b" " * BOMB_BYTES, compresslevel=9)
    return answers(body=gzip.compress(inner, compresslevel=9), Content_Encoding="gzip, gzip")


def repeated(*, before: bytes, part: bytes, seconds: float) -> Answer:
    """`part` again and again, with a pause of `seconds` after each."""

    def answer(connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(before)
        until = time.monotonic() + _LONGEST_SECONDS
        while time.monotonic() < until:
            connection.sendall(part)
            time.sleep(seconds)

    return answer


SLOW_ANSWERS: dict[str, Answer] = {
    "drips its body": repeated(before=_OK + b"Content-Length: 100000\r\n\r\n", part=b" ", seconds=0.1),
    "drips its headers": repeated(before=_OK, part=b"X-More: 1\r\n", seconds=0.1),
    "hurries through a body of single bytes": repeated(
        before=_OK + b"Content-Length: 1000000\r\n\r\n", part=b" ", seconds=0.0002
    ),
    "goes on continuing": repeated(before=b"", part=b"HTTP/1.1 100 Continue\r\n\r\n" * 50, seconds=0.0),
    "extends its chunks": repeated(
        before=_OK + b"Transfer-Encoding: chunked\r\n\r\n", part=b"1;" + b"x" * 2000 + b"\r\n \r\n", seconds=0.005
    ),
}
"""Answers that are never complete, by what their server does."""
ENDLESS_HEADERS = repeated(before=_OK, part=b"X-More: " + b"x" * 60_000 + b"\r\n", seconds=0.0)
ENDLESS_BODY = repeated(before=_OK + b"\r\n", part=b" " * 1_000_000, seconds=0.0)
