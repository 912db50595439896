"""The address of a server isolated in another container or pod: `HOST:PORT`, or `unix:PATH` in a shared volume."""

import socket
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_IDLE_SECONDS, _BETWEEN_SECONDS, _PROBES = 15, 5, 4
"""Keepalive: a lost machine is detected after 35 seconds. The kernel of a busy one answers the probes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A TCP address, or the path of a Unix socket."""

    host: str = ""
    port: int = 0
    path: str = ""

    def __str__(self) -> str:
        return f"unix:{self.path}" if self.path else f"{self.host}:{self.port}"

    def resolve(self) -> Iterator["Address"]:
        """The servers behind this name: a headless Service has an address for each of its pods.

        Raises:
            OSError: the name has no address, as before the first pod runs.
        """
        if self.path:
            yield self
            return
        results = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)  # noqa: TID251 - the operator's own cluster
        for host in dict.fromkeys(str(address[0]) for *_, address in results):
            yield Address(host=host, port=self.port)

    def connected(self, *, seconds: float) -> socket.socket:
        """A new connection.

        Raises:
            OSError: nothing listens there, or does not accept in time.
        """
        if not self.path:
            return kept_alive(socket.create_connection((self.host, self.port), timeout=seconds))
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(seconds)
            connection.connect(self.path)
        except BaseException:
            connection.close()
            raise
        return connection

    def listening(self, *, waiting: int = 1) -> socket.socket:
        """A socket that listens at this address, with a backlog of `waiting` clients.

        Raises:
            OSError: the port is taken, or the folder of the socket is not writable.
        """
        if not self.path:
            family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
            return socket.create_server((self.host, self.port), family=family, backlog=waiting)
        with suppress(FileNotFoundError):
            # Left by an earlier process of this container; other files are not removed.
            if stat.S_ISSOCK(Path(self.path).lstat().st_mode):
                Path(self.path).unlink()
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.bind(self.path)
            # The worker runs as another user of the same group.
            Path(self.path).chmod(0o660)
            listener.listen(waiting)
        except BaseException:
            listener.close()
            raise
        return listener


def parse_address(text: str) -> Address:
    """Parse the address in a setting.

    Raises:
        ValueError: it is neither `HOST:PORT` nor `unix:/PATH`.
    """
    kind, _, path = text.partition(":")
    if kind == "unix" and path.startswith("/"):
        return Address(path=path)
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isdecimal() or len(port) > 5 or not 0 <= int(port) < 65536:
        raise ValueError(f"{text!r} is no address; write HOST:PORT or unix:/PATH")
    return Address(host=host, port=int(port))


def kept_alive(connection: socket.socket) -> socket.socket:
    """Enable keepalive probes, and send small frames without delay."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if sys.platform == "linux":
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _IDLE_SECONDS)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _BETWEEN_SECONDS)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _PROBES)
        lost_after = (_IDLE_SECONDS + _BETWEEN_SECONDS * _PROBES) * 1000
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, lost_after)
    return connection
