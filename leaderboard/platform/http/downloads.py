"""Downloads that are sent while they are made, by whichever server runs the site; among them Apache Parquet."""

import io
import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db import connection
from django.http import HttpRequest, StreamingHttpResponse
from rest_framework.renderers import JSONRenderer

if TYPE_CHECKING:
    import pyarrow as pa


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


PARQUET = "application/vnd.apache.parquet"
PARQUET_METADATA = b"planarena"
"""Key of the schema's metadata; the value is a JSON object in UTF-8."""
_ROWS = 1000
"""In a row group, which is what memory holds."""


class _Pipe(io.RawIOBase):
    """Keeps what was written until it is taken."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._waiting.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        taken = b"".join(self._waiting)
        self._waiting.clear()
        return taken


def parquet(*, schema: "pa.Schema", rows: Iterable[Mapping[str, Any]], facts: Mapping[str, Any]) -> Iterator[bytes]:
    """The file in pieces of one row group each.

    Args:
        schema: of the rows.
        rows: values by column; what is missing is null.
        facts: what the rows are, as JSON values, for the schema's metadata.
    """
    # Imported here: it takes 0.2 s and 60 MB, and only these downloads need it.
    import pyarrow as pa
    import pyarrow.parquet as pq

    pipe, left = _Pipe(), iter(rows)
    described = schema.with_metadata({PARQUET_METADATA: json.dumps(facts, ensure_ascii=False).encode()})
    with pq.ParquetWriter(pipe, described) as writer:
        while group := list(islice(left, _ROWS)):
            writer.write_table(pa.Table.from_pylist(group, schema=described))
            yield pipe.take()
    yield pipe.take()


class _Download(JSONRenderer):
    """The view writes the file itself. What DRF renders are problems, which are JSON as everywhere."""


class _Csv(_Download):
    media_type = "text/csv"
    format = "csv"


class _Parquet(_Download):
    media_type = PARQUET
    format = "parquet"


DOWNLOADS: Mapping[str, type[JSONRenderer]] = MappingProxyType({kind.format: kind for kind in (_Csv, _Parquet)})
"""By the value of `format`, which is also the ending of the file's name."""
