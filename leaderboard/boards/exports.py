"""Exports of snapshots: CSV, JSON, BibTeX and Parquet, and citations of their rows."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple

from evaluator.scoring import board_table
from evaluator.scoring.board_table import BoardFacts, Kind, columns, lines
from evaluator.scoring.metrics.undecided import ranged, undecided_words
from leaderboard.boards.citing import SITE, Citation, CitedSnapshot, bibtex_entry, doi_of, published_in, rank_words
from leaderboard.boards.contents import BoardContent
from leaderboard.boards.models import Snapshot
from leaderboard.catalog.library import RunConditions
from leaderboard.catalog.models import Suite
from leaderboard.catalog.services import primary_metric
from leaderboard.evaluations.results.figures import figure, interval_words
from leaderboard.platform.http.downloads import parquet

JSON_FORMAT = "planarena-board/1"


class Exported(NamedTuple):
    """A snapshot with everything its files refer to."""

    snapshot: Snapshot
    """With its suite. Exports use `content` instead of its own."""
    address: str
    """Absolute URL of the snapshot's page."""
    site: str
    """Prefix of all other URLs, without a trailing slash."""
    content: BoardContent

    @property
    def rows(self) -> Sequence[Mapping[str, Any]]:
        """In the format of `ranking.py`."""
        return self.content.rows


def as_csv(board: Exported) -> str:
    """The snapshot as a table (`evaluator.scoring.board_table`)."""
    return board_table.as_csv(facts=table_facts(board), rows=board.rows)


def table_facts(board: Exported) -> BoardFacts:
    """The facts of the snapshot that are repeated in every line of the table."""
    snapshot, suite = board.snapshot, board.snapshot.suite
    return BoardFacts(
        columns=suite.columns,
        site=board.site,
        suite=suite.slug,
        suite_version=suite.version,
        suite_digest=suite.digest,
        conditions={name: "" if value is None else value for name, value in RunConditions.to_json(snapshot).items()},
        snapshot=snapshot.number,
        snapshot_digest=snapshot.digest,
    )


def as_json(board: Exported) -> str:
    """The stored content (documented in `ranking.py`), so that readers can verify the digest, with its conditions."""
    document = {**facts_of(board), "content": board.snapshot.content}
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def facts_of(board: Exported) -> dict[str, Any]:
    """Suite, conditions and snapshot of the rows, as JSON values."""
    snapshot, suite = board.snapshot, board.snapshot.suite
    return {
        "format": JSON_FORMAT,
        "address": board.address,
        "suite": {
            "slug": suite.slug,
            "title": suite.title,
            "version": suite.version,
            "digest": suite.digest,
            "metrics": list(suite.metrics),
        },
        "conditions": RunConditions.to_json(snapshot),
        "snapshot": {"number": snapshot.number, "digest": snapshot.digest, "created": snapshot.created.isoformat()},
    }


def board_as_bibtex(board: Exported) -> str:
    """An entry that cites the whole snapshot."""
    snapshot, suite = board.snapshot, board.snapshot.suite
    return bibtex_entry(
        key=f"planarena-{suite.slug}-{snapshot.number}",
        fields={
            "title": f"{suite.title}: board of PlanArena, snapshot {snapshot.number}",
            "author": "{PlanArena}",
            **published_in(snapshot.created),
            **({"doi": doi} if (doi := doi_of(suite.slug)) else {}),
            "url": board.address,
            "note": f"{_conditions(snapshot)}; snapshot {snapshot.number}, SHA-256 {snapshot.digest}",
        },
    )


def citation_of_row(*, board: Exported, row: Mapping[str, Any]) -> Citation:
    """The citation of one row. Its author is the planner's owner or team."""
    snapshot, suite = board.snapshot, board.snapshot.suite
    rank = rank_words(rank=row["rank"], low=row["rank_low"], high=row["rank_high"], planners=ranked_count(board.rows))
    return Citation(
        key=f"planarena-{suite.slug}-{str(row['evaluation'])[:8]}",
        title=f"{row['planner']} on {suite.title}, evaluated by {SITE}",
        author=str(row.get("team") or row["owner"]),
        finished=datetime.fromisoformat(row["finished"]),
        address=f"{board.site}/evaluations/{row['evaluation']}/",
        result=", ".join(words for words in (_scores(row=row, suite=suite), rank) if words),
        conditions=_conditions(snapshot),
        snapshot=CitedSnapshot(snapshot.number, snapshot.digest, board.address, snapshot.created),
        doi=doi_of(suite.slug),
    )


def ranked_count(rows: Sequence[Mapping[str, Any]]) -> int:
    """Number of rows with a rank."""
    return sum(row["rank"] is not None for row in rows)


def _scores(*, row: Mapping[str, Any], suite: Suite) -> str:
    primary = primary_metric(suite)
    value = ranged(metrics=row["metrics"], column=suite.ranking_column)
    if not value:
        return f"no value for {primary['label']}"
    notes = ", ".join(words for words in (undecided_words(value), interval_words(value)) if words)
    return f"{primary['label']} {figure(value)}" + (f" ({notes})" if notes else "")


def _conditions(snapshot: Snapshot) -> str:
    suite = snapshot.suite
    return f"Suite {suite.slug} {suite.version}, profile {snapshot.profile}, split {snapshot.split}"


_READERS: Mapping[Kind, Callable[[Any], Any]] = MappingProxyType(
    {**{kind: kind for kind in (str, int, float, bool)}, datetime: datetime.fromisoformat}
)
"""Convert a stored value to the type of its column."""


def as_parquet(board: Exported) -> bytes:
    """The table of the CSV file with typed columns; missing values are null, and times are UTC."""
    # Imported here: see `leaderboard.platform.http.downloads`.
    import pyarrow as pa

    types = {
        str: pa.string(),
        int: pa.int64(),
        float: pa.float64(),
        bool: pa.bool_(),
        datetime: pa.timestamp("us", tz="UTC"),
    }
    kinds = columns(table_facts(board))
    schema = pa.schema([(name, types[kind]) for name, kind in kinds.items()])
    rows = (
        {
            name: None if value in (None, "") else _READERS[kind](value)
            for (name, kind), value in zip(kinds.items(), line, strict=True)
        }
        for line in lines(facts=table_facts(board), rows=board.rows)
    )
    return b"".join(parquet(schema=schema, rows=rows, facts=facts_of(board)))
