"""Streamed downloads, under WSGI and ASGI; among them Apache Parquet."""

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
"""Bytes per chunk."""


def streamed(
    *, request: HttpRequest, parts: Iterable[bytes], content_type: str, filename: str
) -> StreamingHttpResponse:
    """An uncacheable streamed download. Its status is 200 before the first part is generated.

    Args:
        request: tells WSGI from ASGI.
        parts: read sequentially, in any thread; each may query the database.
        content_type: of the file.
        filename: ASCII, without quotes.
    """
    pieces = _joined(parts)
    # An ASGI server would otherwise buffer the whole file.
    content = _asynchronous(pieces) if isinstance(request, ASGIRequest) else pieces
    response = StreamingHttpResponse(content, content_type=content_type)
    response.headers["Content-Disposition"] = f'attachment; filename="{filename}"'
    response.headers["Cache-Control"] = "private, no-store"
    # nginx would otherwise buffer it.
    response.headers["X-Accel-Buffering"] = "no"
    return response


def _joined(parts: Iterable[bytes]) -> Iterator[bytes]:
    buffer, size = [], 0
    for part in parts:
        buffer.append(part)
        size += len(part)
        if size >= _PIECE:
            yield b"".join(buffer)
            buffer, size = [], 0
    yield b"".join(buffer)


async def _asynchronous(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    def read() -> bytes | None:
        try:
            return next(pieces, None)
        finally:
            # A slow client must not hold a connection of the pool between chunks.
            connection.close()

    while (piece := await sync_to_async(read)()) is not None:
        yield piece


PARQUET = "application/vnd.apache.parquet"
PARQUET_METADATA = b"planarena"
"""Key of the schema's metadata; the value is a JSON object in UTF-8."""
_ROWS = 1000
"""Rows per row group, which bounds memory."""


class _Pipe(io.RawIOBase):
    """Buffers written data until it is taken."""

    def __init__(self) -> None:
        super().__init__()
        self._buffer: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._buffer.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        data = b"".join(self._buffer)
        self._buffer.clear()
        return data


def parquet(*, schema: "pa.Schema", rows: Iterable[Mapping[str, Any]], facts: Mapping[str, Any]) -> Iterator[bytes]:
    """The file in chunks of one row group each.

    Args:
        schema: of the rows.
        rows: values by column; missing values are null.
        facts: JSON values for the schema's metadata.
    """
    # Imported here, since it takes 0.2 s and 60 MB, and only these downloads need it.
    import pyarrow as pa
    import pyarrow.parquet as pq

    pipe, remaining = _Pipe(), iter(rows)
    schema = schema.with_metadata({PARQUET_METADATA: json.dumps(facts, ensure_ascii=False).encode()})
    with pq.ParquetWriter(pipe, schema) as writer:
        while group := list(islice(remaining, _ROWS)):
            writer.write_table(pa.Table.from_pylist(group, schema=schema))
            yield pipe.take()
    yield pipe.take()


class _Download(JSONRenderer):
    """The view writes the file itself; DRF renders only problems, in JSON."""


class _Csv(_Download):
    media_type = "text/csv"
    format = "csv"


class _Parquet(_Download):
    media_type = PARQUET
    format = "parquet"


DOWNLOADS: Mapping[str, type[JSONRenderer]] = MappingProxyType({kind.format: kind for kind in (_Csv, _Parquet)})
"""By value of `format`, which is also the file extension."""
