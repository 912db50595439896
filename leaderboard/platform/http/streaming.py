"""Downloads that are sent while they are made, by whichever server runs the site."""

from collections.abc import AsyncIterator, Iterable, Iterator

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db import connection
from django.http import HttpRequest, StreamingHttpResponse

_PIECE = 64 * 1024
"""Bytes that are sent at once."""


def streamed(
    *, request: HttpRequest, parts: Iterable[bytes], content_type: str, filename: str
) -> StreamingHttpResponse:
    """A download that nobody keeps. The answer is 200 before the first part is made.

    Args:
        request: whose server sends it.
        parts: read one after the other, in whatever thread; each may query the database.
        content_type: of the file.
        filename: ASCII, without quotes.
    """
    pieces = _joined(parts)
    # An ASGI server would otherwise collect the whole file before it sends anything.
    content = _asynchronous(pieces) if isinstance(request, ASGIRequest) else pieces
    response = StreamingHttpResponse(content, content_type=content_type)
    response.headers["Content-Disposition"] = f'attachment; filename="{filename}"'
    response.headers["Cache-Control"] = "private, no-store"
    # nginx would otherwise collect it before passing it on.
    response.headers["X-Accel-Buffering"] = "no"
    return response


def _joined(parts: Iterable[bytes]) -> Iterator[bytes]:
    waiting, size = [], 0
    for part in parts:
        waiting.append(part)
        size += len(part)
        if size >= _PIECE:
            yield b"".join(waiting)
            waiting, size = [], 0
    yield b"".join(waiting)


async def _asynchronous(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    while (piece := await sync_to_async(_next)(pieces)) is not None:
        yield piece


def _next(pieces: Iterator[bytes]) -> bytes | None:
    try:
        return next(pieces, None)
    finally:
        # A slow reader must not hold a connection of the pool while nothing is read.
        connection.close()
