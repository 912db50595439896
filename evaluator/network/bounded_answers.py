"""Reading the answers of servers that may be hostile: uncompressed, and bounded in bytes and in time.

Bytes are counted as they arrive and nothing is decompressed: `Content-Encoding: gzip, gzip` turns two kilobytes into
four gigabytes within a single chunk, before anything could be counted.
"""

import time
from collections.abc import Callable, Mapping
from typing import IO

import h11
import httpx

UNCOMPRESSED: Mapping[str, str] = {"Accept-Encoding": "identity"}
"""Header of each request whose answer is read here."""
_LONGEST_SHOWN = 60
_MOST_HEADER_BYTES = 100 * 1024
"""What httpcore lets h11 buffer before an answer's headers are complete."""
_TOO_LARGE = 431
"""How h11 marks the error of a full buffer."""
_ENDED = ("peer closed connection", "peer unexpectedly closed connection")
"""Beginnings of h11's errors for an answer that was cut off, which may be the network's fault."""


class CompressedAnswerError(Exception):
    """The answer is compressed although none was asked for. Its body was not read."""

    def __init__(self, encoding: str) -> None:
        self.encoding = encoding
        """Value of the header, or how long it is where it does not fit into a sentence."""
        super().__init__(f"compressed (Content-Encoding: {encoding}); the request asked for an uncompressed one")


class AnswerTooLargeError(Exception):
    """The body is larger than the limit; the rest was not read."""

    def __init__(self, *, beginning: bytes, most_bytes: int) -> None:
        self.beginning = beginning
        """The first `most_bytes` of the body."""
        super().__init__(f"larger than {most_bytes} bytes")


class AnswerLateError(Exception):
    """The body was not complete at the deadline."""


def refuse_compressed(response: httpx.Response) -> None:
    """Check the headers of an answer, before any of its body is read.

    Raises:
        CompressedAnswerError: `Content-Encoding` names a coding other than `identity`.
    """
    encoding = response.headers.get("Content-Encoding", "")
    codings = {coding.strip().lower() for coding in encoding.split(",")}
    if codings - {"", "identity"}:
        # Never cut: half of a secret that a server repeats would not be recognised as one.
        raise CompressedAnswerError(encoding if len(encoding) <= _LONGEST_SHOWN else f"{len(encoding)} characters")


def http_violation(error: httpx.TransportError) -> str | None:
    """What makes an answer no HTTP, as part of a sentence; None: the connection failed or ended too early.

    Nothing of the answer is in the text.
    """
    # httpcore drops the chain of causes and keeps the error as its own argument.
    cause = error.__cause__.args[0] if error.__cause__ is not None and error.__cause__.args else None
    if not isinstance(cause, h11.RemoteProtocolError) or str(cause).startswith(_ENDED):
        return None
    if cause.error_status_hint == _TOO_LARGE:
        return f"no valid HTTP: its headers have more than {_MOST_HEADER_BYTES // 1024} KiB"
    return f"no valid HTTP: {str(cause).partition(':')[0][:_LONGEST_SHOWN].rstrip('.')}"


def read_answer(
    response: httpx.Response, *, most_bytes: int, until: float, clock: Callable[[], float] = time.monotonic
) -> bytes:
    """The body of a streamed answer.

    Args:
        response: as `httpx.Client.stream` gives it; nothing of its body has been read.
        most_bytes: the largest body.
        until: the deadline, on the scale of `clock`. It is checked after each chunk: a server that sends a byte now and
            then stays within any timeout between two bytes.
        clock: the time in seconds.

    Raises:
        CompressedAnswerError: the answer is compressed.
        AnswerTooLargeError: the body is larger.
        AnswerLateError: the body was not complete at the deadline.
        httpx.TransportError: the connection broke, or was silent for longer than the client's timeout.
    """
    refuse_compressed(response)
    body = bytearray()
    for chunk in response.iter_raw():
        _append(body, chunk, most_bytes=most_bytes)
        if clock() > until:
            raise AnswerLateError
    return bytes(body)


def save_answer(
    response: httpx.Response,
    *,
    file: IO[bytes],
    most_bytes: int,
    until: float,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """As `read_answer`, into a file, for answers that are too large to be held in memory.

    Raises:
        As `read_answer`; the `beginning` of an answer that is too large is empty, and the file has a part of it.
    """
    refuse_compressed(response)
    received = 0
    for chunk in response.iter_raw():
        received += len(chunk)
        if received > most_bytes:
            raise AnswerTooLargeError(beginning=b"", most_bytes=most_bytes)
        file.write(chunk)
        if clock() > until:
            raise AnswerLateError


async def read_answer_async(response: httpx.Response, *, most_bytes: int) -> bytes:
    """As `read_answer`, in an event loop, whose caller bounds the time with `asyncio.timeout`.

    Raises:
        CompressedAnswerError: the answer is compressed.
        AnswerTooLargeError: the body is larger.
        httpx.TransportError: the connection broke.
    """
    refuse_compressed(response)
    body = bytearray()
    async for chunk in response.aiter_raw():
        _append(body, chunk, most_bytes=most_bytes)
    return bytes(body)


def _append(body: bytearray, chunk: bytes, *, most_bytes: int) -> None:
    body += chunk
    if len(body) > most_bytes:
        raise AnswerTooLargeError(beginning=bytes(memoryview(body)[:most_bytes]), most_bytes=most_bytes)
