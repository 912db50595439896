"""Sending an export while it is made, by whichever server runs the site."""

from collections.abc import AsyncIterator, Iterator

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db import connection
from django.http import HttpRequest, StreamingHttpResponse
from django.utils import timezone

from leaderboard.accounts.models import User
from leaderboard.leaving.export import export

_PIECE = 64 * 1024
"""Characters that are sent at once."""


def export_response(*, request: HttpRequest, user: User) -> StreamingHttpResponse:
    """The user's export as a download. The answer is 200 before the first row is read."""
    pieces = _joined(export(user))
    # An ASGI server would otherwise collect the whole export before it sends anything.
    content = _asynchronous(pieces) if isinstance(request, ASGIRequest) else pieces
    response = StreamingHttpResponse(content, content_type="application/json")
    name = f"planarena-account-{timezone.now():%Y-%m-%d}.json"
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    response.headers["Cache-Control"] = "private, no-store"
    # nginx would otherwise collect it before passing it on.
    response.headers["X-Accel-Buffering"] = "no"
    return response


def _joined(pieces: Iterator[str]) -> Iterator[bytes]:
    waiting, size = [], 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size >= _PIECE:
            yield "".join(waiting).encode()
            waiting, size = [], 0
    yield "".join(waiting).encode()


async def _asynchronous(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    while (piece := await sync_to_async(_next)(pieces)) is not None:
        yield piece


def _next(pieces: Iterator[bytes]) -> bytes | None:
    try:
        return next(pieces, None)
    finally:
        # A slow reader must not hold a connection of the pool while nothing is read.
        connection.close()
