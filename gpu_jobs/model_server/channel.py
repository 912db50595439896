"""Frames over a stream socket: four bytes of length, big-endian, then that many bytes. Nothing is unpickled."""

import socket
import struct
import time
from collections.abc import Callable

_LENGTH = struct.Struct(">I")
_PIECE = 1 << 20


class ChannelError(Exception):
    """Malformed or too large frame, or a broken connection."""


class ChannelClosedError(ChannelError):
    """The peer is gone."""


class ServerLostError(ChannelError):
    """The server's container or machine is gone, through no fault of the model."""


class ServerEndedError(ChannelError):
    """The supervisor of a remote server reports that the model's process has ended; the message is part of a
    sentence."""


class ChannelTimeoutError(ChannelError):
    """A frame was not received or sent in time."""


class Channel:
    """One end of the connection between worker and model server."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._read = bytearray()
        """Received bytes after the last frame."""

    def close(self) -> None:
        """Close this end; the peer reads the end of the stream."""
        self._connection.close()

    def end_sending(self) -> None:
        """Close the sending direction only.

        Raises:
            ChannelError: the peer is gone.
        """
        try:
            self._connection.shutdown(socket.SHUT_WR)
        except OSError as error:
            raise ChannelClosedError(error.strerror or type(error).__name__) from None

    def send(self, data: bytes, *, deadline: float | None = None) -> None:
        """Send one frame.

        Args:
            data: the frame's content.
            deadline: on `time.monotonic`; None: no limit.

        Raises:
            ChannelError: the peer is gone, or does not read in time.
        """
        self._limit(deadline)
        try:
            self._connection.sendall(_LENGTH.pack(len(data)) + data)
        except OSError as error:
            raise _problem(error, late="it does not read") from None

    def receive(self, *, most: int, deadline: float | None = None) -> bytes:
        """Receive one frame.

        Args:
            most: largest size in bytes. A larger frame is refused before it is read.
            deadline: for the whole frame, on `time.monotonic`; None: no limit.

        Raises:
            ChannelError: the peer is gone, sends too much or not in time.
        """
        (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size, deadline=deadline))
        if length > most:
            raise ChannelError(f"a frame of {length} bytes; at most {most} are allowed here")
        return self._exactly(length, deadline=deadline)

    def _exactly(self, count: int, *, deadline: float | None) -> bytes:
        # Memory grows with received bytes, not with the announced length.
        while len(self._read) < count:
            self._limit(deadline)
            try:
                piece = self._connection.recv(_PIECE)
            except OSError as error:
                raise _problem(error, late="nothing was received in time") from None
            if not piece:
                raise ChannelClosedError("the end of the stream")
            self._read += piece
        data = bytes(self._read[:count])
        del self._read[:count]
        return data

    def _limit(self, deadline: float | None, *, now: Callable[[], float] = time.monotonic) -> None:
        if deadline is None:
            self._connection.settimeout(None)
            return
        left = deadline - now()
        if left <= 0:
            raise ChannelTimeoutError("no time is left")
        self._connection.settimeout(left)


def _problem(error: OSError, *, late: str) -> ChannelError:
    # Both are a `TimeoutError`, but only the kernel's ETIMEDOUT (the peer's machine is gone) has a number.
    if isinstance(error, TimeoutError) and error.errno is None:
        return ChannelTimeoutError(late)
    return ChannelClosedError(error.strerror or type(error).__name__)
