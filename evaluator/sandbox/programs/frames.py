"""The protocol of a worker and a server of programs: frames of a length of 8 bytes and the content."""

import socket

LENGTH_BYTES = 8
MOST_BYTES = 256 * 1024 * 1024
_MOST_READ = 1 << 20


class FrameError(Exception):
    """The peer violated the protocol, or closed the connection."""


def send(connection: socket.socket, content: bytes) -> None:
    """Send one frame.

    Raises:
        OSError: the peer closed the connection, or does not read.
    """
    connection.sendall(len(content).to_bytes(LENGTH_BYTES) + content)


def receive(connection: socket.socket, *, most_bytes: int = MOST_BYTES) -> bytes:
    """Receive one frame.

    Raises:
        FrameError: it is too long, or the peer closed the connection before its end.
        OSError: timeout.
    """
    size = int.from_bytes(_exactly(connection, LENGTH_BYTES))
    if size > most_bytes:
        raise FrameError(f"a frame of {size:,} bytes; at most {most_bytes:,} are allowed")
    return _exactly(connection, size)


def _exactly(connection: socket.socket, count: int) -> bytes:
    parts = []
    while count:
        part = connection.recv(min(count, _MOST_READ))
        if not part:
            raise FrameError("the connection was closed")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
