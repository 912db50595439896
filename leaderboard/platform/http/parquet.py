"""Rows as Apache Parquet, written while they are sent."""

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

MEDIA_TYPE = "application/vnd.apache.parquet"
METADATA = b"planarena"
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
    described = schema.with_metadata({METADATA: json.dumps(facts, ensure_ascii=False).encode()})
    with pq.ParquetWriter(pipe, described) as writer:
        while group := list(islice(left, _ROWS)):
            writer.write_table(pa.Table.from_pylist(group, schema=described))
            yield pipe.take()
    yield pipe.take()
