"""The results of an evaluation as Parquet."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from leaderboard.platform.http.parquet import parquet

if TYPE_CHECKING:
    import pyarrow as pa


def results_parquet(
    *, rows: Iterable[Mapping[str, Any]], indicators: Sequence[str], facts: Mapping[str, Any]
) -> Iterator[bytes]:
    """A row for each task with the API's fields, each indicator in a column of its own.

    Args:
        rows: as the API lists them, with evaluation and suite.
        indicators: names of the indicators.
        facts: for the schema's metadata.
    """
    flat = ({**row, **{f"indicator_{name}": row["indicators"].get(name) for name in indicators}} for row in rows)
    return parquet(schema=_schema(indicators), rows=flat, facts=facts)


def _schema(indicators: Sequence[str]) -> "pa.Schema":
    # Imported here: see `leaderboard.platform.http.parquet`.
    import pyarrow as pa

    text, number, count = pa.string(), pa.float64(), pa.int32()
    finding = pa.struct([(name, text) for name in ("cause", "step", "tool", "input", "wanted", "given", "where")])
    end = pa.struct([("stop", text), ("turns", count), ("score", number)])
    problem = pa.struct([("tool", text), ("problem", text), ("count", count)])
    return pa.schema(
        [
            *((name, text) for name in ("task", "metric", "outcome", "reason", "reason_text")),
            ("score", number),
            ("seconds", number),
            ("plan_summary", text),
            ("accepted", pa.bool_()),
            ("record_digest", text),
            *((f"indicator_{name}", number) for name in indicators),
            ("causes", pa.list_(finding)),
            ("episodes", pa.struct([("ends", pa.list_(end)), ("problems", pa.list_(problem))])),
            *((name, text) for name in ("evaluation", "suite", "suite_version")),
            ("finished", pa.timestamp("us", tz="UTC")),
        ]
    )
