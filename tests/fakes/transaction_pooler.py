"""A pooler of PostgreSQL connections that behaves as PgBouncer in transaction mode, at its least convenient.

Every transaction of a client goes to another server connection than the one before, if there is one. What belongs to a
session (advisory locks, LISTEN, named cursors WITH HOLD, prepared statements, SET) therefore gets lost, at once and
always. Of the protocol it knows what psycopg speaks: no TLS, no passwords, no cancelling.
"""

import socket
import struct
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.fakes.serving import accepting

_SSL_REQUEST, _GSS_REQUEST = 80877103, 80877104
_ENDS_WITH_READY = frozenset(b"QS")
"""Messages of a client that the server answers with ReadyForQuery: Query and Sync."""


class TransactionPooler:
    """`servers` connections are shared by all clients."""

    def __init__(self, *, host: str, port: int, servers: int = 3) -> None:
        """Args:
        host: of PostgreSQL; a folder with its socket if it begins with a slash.
        port: its port.
        servers: connections to it.
        """
        self._host, self._server_port, self._count = host, port, servers
        self._idle: deque[socket.socket] = deque()
        self._made = 0
        self._changed = threading.Condition()
        self._greeting = b""
        self.port = 0

    def serve(self, client: socket.socket) -> None:
        startup = _startup(client)
        server = self._take(startup)
        self._give_back(server)
        client.sendall(self._greeting)
        while (first := _message(client))[:1] != b"X":
            server = self._take(startup)
            self._transaction(client=client, server=server, first=first)
            self._give_back(server)

    def end(self) -> None:
        """End the connections to the server."""
        while self._idle:
            self._idle.popleft().close()

    def _transaction(self, *, client: socket.socket, server: socket.socket, first: bytes) -> None:
        """Pass on messages until the server says that it is in no transaction and owes no answer."""
        owed, message = 0, first
        while True:
            server.sendall(message)
            owed += message[0] in _ENDS_WITH_READY
            while owed:
                answer = _message(server)
                client.sendall(answer)
                if answer[:1] == b"Z":
                    owed -= 1
                    if not owed and answer[5:6] == b"I":
                        return
            message = _message(client)

    def _take(self, startup: bytes) -> socket.socket:
        with self._changed:
            if self._made < self._count:
                self._made += 1
                return self._connect(startup)
            self._changed.wait_for(lambda: self._idle)
            return self._idle.popleft()

    def _give_back(self, server: socket.socket) -> None:
        with self._changed:
            # At the end, so that the next transaction has another one.
            self._idle.append(server)
            self._changed.notify()

    def _connect(self, startup: bytes) -> socket.socket:
        if self._host.startswith("/"):
            server = socket.socket(socket.AF_UNIX)
            server.connect(str(Path(self._host) / f".s.PGSQL.{self._server_port}"))
        else:
            server = socket.create_connection((self._host, self._server_port))
        server.sendall(startup)
        greeting = [_message(server)]
        while greeting[-1][:1] != b"Z":
            greeting.append(_message(server))
        self._greeting = b"".join(greeting)
        return server


def _startup(client: socket.socket) -> bytes:
    while True:
        head = _exactly(client, 8)
        length, code = struct.unpack("!II", head)
        if code not in {_SSL_REQUEST, _GSS_REQUEST}:
            return head + _exactly(client, length - 8)
        client.sendall(b"N")


def _message(source: socket.socket) -> bytes:
    head = _exactly(source, 5)
    return head + _exactly(source, struct.unpack("!I", head[1:])[0] - 4)


def _exactly(source: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = source.recv(count - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


@contextmanager
def pooling(*, host: str, port: int, servers: int = 3) -> Iterator[TransactionPooler]:
    """A pooler in front of a server."""
    pooler = TransactionPooler(host=host, port=port, servers=servers)
    with accepting(pooler.serve) as pooler.port:
        yield pooler
    pooler.end()
