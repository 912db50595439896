"""Downloads of results, read again. Nothing imports PyArrow before a test needs it."""

import csv
import io
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyarrow import Table


def read_table(data: bytes) -> "Table":
    """A file of Parquet."""
    import pyarrow.parquet as pq

    return pq.read_table(io.BytesIO(data))


def read_rows(data: bytes, ending: str) -> list[dict[str, Any]]:
    """The rows of a CSV, a JSON or a Parquet file."""
    if ending == "parquet":
        return read_table(data).to_pylist()
    text = data.decode()
    return json.loads(text)["results"] if ending == "json" else list(csv.DictReader(io.StringIO(text)))
