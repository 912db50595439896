"""Snapshots as Parquet."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from evaluator.scoring.board_table import Kind, columns, lines
from leaderboard.boards.exports import Exported, facts_of, table_facts
from leaderboard.platform.http.parquet import parquet

if TYPE_CHECKING:
    import pyarrow as pa

_READERS: Mapping[Kind, Callable[[Any], Any]] = MappingProxyType(
    {**{kind: kind for kind in (str, int, float, bool)}, datetime: datetime.fromisoformat}
)
"""From what snapshots keep to what a column holds."""


def as_parquet(board: Exported) -> bytes:
    """The table of the CSV file with typed columns; what is missing is null, and times are UTC."""
    kinds = columns(table_facts(board))
    return b"".join(parquet(schema=_schema(kinds), rows=_rows(board, kinds=kinds), facts=facts_of(board)))


def _rows(board: Exported, *, kinds: dict[str, Kind]) -> Iterator[dict[str, Any]]:
    for line in lines(facts=table_facts(board), rows=board.rows):
        yield {
            name: None if value in (None, "") else _READERS[kind](value)
            for (name, kind), value in zip(kinds.items(), line, strict=True)
        }


def _schema(kinds: dict[str, Kind]) -> "pa.Schema":
    # Imported here: see `leaderboard.platform.http.parquet`.
    import pyarrow as pa

    types = {
        str: pa.string(),
        int: pa.int64(),
        float: pa.float64(),
        bool: pa.bool_(),
        datetime: pa.timestamp("us", tz="UTC"),
    }
    return pa.schema([(name, types[kind]) for name, kind in kinds.items()])
