"""Reading the answers of untrusted servers: uncompressed, and bounded in bytes and time.

Bytes are counted as they arrive and nothing is decompressed: with `Content-Encoding: gzip, gzip` two kilobytes expand
to four gigabytes in a single chunk, before they can be counted.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import IO

import h11
import httpx

UNCOMPRESSED: Mapping[str, str] = {"Accept-Encoding": "identity"}
"""Header of requests whose answers are read here."""
_LONGEST_SHOWN = 60
_BEGINNING = 16 * 1024
_MOST_HEADER_BYTES = 100 * 1024
"""The buffer of h11 for headers, as httpcore sets it."""
_TOO_LARGE = 431
"""The status hint of h11 for a full buffer."""
_ENDED = ("peer closed connection", "peer unexpectedly closed connection")
"""Beginnings of h11's messages for a truncated answer, which the network may have caused."""


class CompressedAnswerError(Exception):
    """The answer is compressed although the request excluded it. The body was not read."""

    def __init__(self, encoding: str) -> None:
        self.encoding = encoding
        """Value of the header, or its length if it is too long for a sentence."""
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
    """Check the headers of an answer before its body is read.

    Raises:
        CompressedAnswerError: `Content-Encoding` has a coding other than `identity`.
    """
    encoding = response.headers.get("Content-Encoding", "")
    codings = {coding.strip().lower() for coding in encoding.split(",")}
    if codings - {"", "identity"}:
        # Not truncated: a part of a secret that the server echoes would not be recognised.
        raise CompressedAnswerError(encoding if len(encoding) <= _LONGEST_SHOWN else f"{len(encoding)} characters")


def http_violation(error: httpx.TransportError) -> str | None:
    """How an answer violates HTTP, as a clause that quotes none of it; None if the connection failed or was closed."""
    # httpcore drops the exception chain, and has the original error as its argument.
    cause = error.__cause__.args[0] if error.__cause__ is not None and error.__cause__.args else None
    if not isinstance(cause, h11.RemoteProtocolError) or str(cause).startswith(_ENDED):
        return None
    if cause.error_status_hint == _TOO_LARGE:
        return f"no valid HTTP: its headers have more than {_MOST_HEADER_BYTES // 1024} KiB"
    return f"no valid HTTP: {str(cause).partition(':')[0][:_LONGEST_SHOWN].rstrip('.')}"


def read_answer(
    response: httpx.Response, *, most_bytes: int, until: float, clock: Callable[[], float] = time.monotonic
) -> bytes:
    """Read the body of a streamed answer.

    Args:
        response: from `httpx.Client.stream`, with an unread body.
        most_bytes: the largest body.
        until: the deadline by `clock`, checked after each chunk: a server that sends single bytes never exceeds a
            timeout between two bytes.
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


def beginning_of(response: httpx.Response, *, until: float, clock: Callable[[], float] = time.monotonic) -> bytes:
    """Up to 16 KiB of a streamed answer, for the server's words about an error; what arrived if it breaks off."""
    body = bytearray()
    with suppress(httpx.TransportError, CompressedAnswerError):
        refuse_compressed(response)
        for chunk in response.iter_raw():
            body += chunk
            if len(body) >= _BEGINNING or clock() > until:
                break
    return bytes(body[:_BEGINNING])


def save_answer(
    response: httpx.Response,
    *,
    file: IO[bytes],
    most_bytes: int,
    until: float,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Like `read_answer`, but writes to a file, for answers that are too large for memory.

    If the answer is too large, `beginning` is empty and the file contains a part of it.
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
    """Like `read_answer` in an event loop; the caller bounds the time with `asyncio.timeout`.

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
