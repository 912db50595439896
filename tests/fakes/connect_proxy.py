"""An HTTP proxy on 127.0.0.1 that leads every tunnel to one server, and an eye on where this process connects to."""

import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tests.fakes.serving import accepting, carry

OPEN = b"HTTP/1.1 200 Connection established\r\n\r\n"


@dataclass
class ConnectProxy:
    """What it was asked."""

    port: int
    heads: list[str] = field(default_factory=list)
    """Request line and headers of each connection."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def asked(self) -> list[str]:
        """Request lines without their protocol, such as `CONNECT planner.example:443`."""
        return [head.splitlines()[0].rpartition(" ")[0] for head in self.heads]


@contextmanager
def connect_proxy(upstream: str = "http://127.0.0.1:9", *, answer: Callable[[socket.socket], None] | None = None):
    """A proxy.

    Args:
        upstream: the address of the server that every tunnel leads to, whatever was asked for.
        answer: what it does instead of opening a tunnel.
    """
    heads: list[str] = []
    target = urlsplit(upstream)

    def serve(client: socket.socket) -> None:
        received = b""
        while b"\r\n\r\n" not in received:
            if not (data := client.recv(65536)):
                return
            received += data
        head, _, rest = received.partition(b"\r\n\r\n")
        heads.append(head.decode())
        if answer is not None:
            answer(client)
            return
        with socket.create_connection((target.hostname, target.port)) as server:
            if head.startswith(b"CONNECT "):
                client.sendall(OPEN)
            else:
                server.sendall(head + b"\r\n\r\n" + rest)
            threading.Thread(target=carry, args=(server, client), daemon=True).start()
            carry(client, server)

    with accepting(serve) as port:
        yield ConnectProxy(port=port, heads=heads)


_seen: list[int] | None = None


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if event == "socket.connect" and _seen is not None and isinstance(arguments[1], tuple):
        # The proxy's own connections are not those of the code that is tested.
        caller = sys._getframe(1)
        if caller.f_globals.get("__name__") != "socket" or caller.f_back.f_globals.get("__name__") != __name__:
            _seen.append(arguments[1][1])


@contextmanager
def connections_seen() -> Iterator[list[int]]:
    """The ports that this process connects to by TCP inside the block, whichever library does it."""
    global _seen
    if not getattr(_watch, "installed", False):
        # A hook cannot be removed; outside the block it does nothing.
        sys.addaudithook(_watch)
        _watch.installed = True
    _seen = []
    try:
        yield _seen
    finally:
        _seen = None
