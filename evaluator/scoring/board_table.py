"""The columns and lines of the CSV and Parquet files of a board's snapshot.

The site writes them, and `planarena verify` compares them with the signed snapshot.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from evaluator.core.suites.base import Column
from evaluator.scoring.metrics.undecided import ranged

Kind = type[str | int | float | bool | datetime]
"""The type of a column."""
Row = Mapping[str, Any]
"""A row of a snapshot; see `leaderboard/boards/ranking.py`."""
RELIABILITY = ("success", "consistency", "robustness", "predictability")
"""Dimensions of reliability, in the order of their columns."""
RANDOM = "random-valid"
"""The bundled planner whose plans are random and valid."""
GOLD = "gold"
"""The bundled planner that answers with gold plans."""
SHORTCUTS = ("regex", "template-memoriser", "bag-of-words")
"""Bundled planners that know the words of public requests instead of their meanings."""
ANCHORS = (
    GOLD, "no-op", RANDOM, "majority", *SHORTCUTS, "gold-minus-one", "parrot", "ask-everything", "last-number",
    "identity", "rules",
)  # fmt: skip
"""Bundled planners that mark the ends of a scale, and shortcuts that need no understanding, the most telling first.
They have no rank."""
WITHOUT_UNDERSTANDING = frozenset(ANCHORS) - {GOLD, "gold-minus-one", "parrot"}
"""The anchors that neither understand a request nor know its gold plan."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_METRIC_PARTS = ("mean", "low", "high", "tasks")
_ENDS = ("mean", "low", "high")
_OUTCOMES = ("scored", "planner_fault", "infra_fault", "not_run", "cancelled")
_USAGE = ("seconds", "prompt_tokens", "completion_tokens", "cached_tokens")
_PRICES = ("prompt_price", "completion_price", "cached_price")
_RUNS = {
    "runs_shown": "policy", "runs": "count", "runs_sd": "sd", "runs_low": "low", "runs_high": "high",
    "runs_identical": "identical",
}  # fmt: skip
"""Columns about the runs of a row, and their names in it."""


class BoardFacts(NamedTuple):
    """The facts of a snapshot that every line has."""

    columns: Sequence[Column]
    """Of the suite."""
    site: str
    """Prefix of all addresses, without a slash at its end."""
    suite: str
    suite_version: str
    suite_digest: str
    conditions: Mapping[str, str | int]
    """By column, what the rows were measured under."""
    snapshot: int
    snapshot_digest: str


def is_anchor(*, kind: str, strategy: str) -> bool:
    """Whether a row is an anchor: a reference line of its board, without a rank.

    Args:
        kind: of the planner.
        strategy: the name of a bundled planner; further seeds follow a slash, as in `random-valid/2`.
    """
    return kind == "bundled" and strategy.partition("/")[0] in ANCHORS


def as_csv(*, facts: BoardFacts, rows: Iterable[Row]) -> str:
    """One line for each row, in RFC 4180. Every line has suite, conditions and snapshot, so that it can stand alone.

    See `safe_cell` for texts that are formulas in spreadsheets.
    """
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(columns(facts))
    for line in lines(facts=facts, rows=rows):
        writer.writerow([safe_cell(value) for value in line])
    return file.getvalue()


def columns(facts: BoardFacts) -> dict[str, Kind]:
    """The columns in order, with their types."""
    groups: list[tuple[Kind, Iterable[str]]] = [
        (int, ("rank", "rank_low", "rank_high", "rank_tests")),
        (str, ("planner", "version", "owner", "team", "kind", "strategy", "model_name")),
        (int, ("parameters",)),
        (bool, ("open_weights", "declared")),
        (str, ("runs_shown",)),
        (int, ("runs",)),
        (float, ("runs_sd", "runs_low", "runs_high")),
        (bool, ("runs_identical",)),
        *_metric_columns(["normalised", *(column.key for column in facts.columns)]),
        (float, (f"{column.key}_upper" for column in _ranged_columns(facts))),
        (int, _OUTCOMES),
        (float, (f"{name}_per_task" for name in _USAGE)),
        *_metric_columns(["readable"]),
        (float, (f"reliability_{name}_{end}" for name in RELIABILITY for end in _ENDS)),
        (float, ("usd_per_task", *(f"usd_per_million_{name.removesuffix('_price')}_tokens" for name in _PRICES))),
        (datetime, ("finished",)),
        (str, ("evaluation", "suite", "suite_version", "suite_digest")),
        *((type(value), (name,)) for name, value in facts.conditions.items()),
        (int, ("snapshot",)),
        (str, ("snapshot_digest",)),
    ]
    return {name: kind for kind, names in groups for name in names}


def lines(*, facts: BoardFacts, rows: Iterable[Row]) -> Iterator[list[Any]]:
    """The values of each row in the order of `columns`; None or an empty text for missing values."""
    return (_line(row=row, facts=facts) for row in rows)


def safe_cell(value: Any) -> Any:
    """A value for CSV. A text that a spreadsheet would evaluate as a formula gets a leading apostrophe."""
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return "" if value is None else value


def _metric_columns(keys: Iterable[str]) -> Iterator[tuple[Kind, tuple[str, ...]]]:
    for key in keys:
        yield float, tuple(f"{key}_{end}" for end in _ENDS)
        yield int, (f"{key}_tasks",)


def _line(*, row: Row, facts: BoardFacts) -> list[Any]:
    usage = row.get("usage") or {}
    line: list[Any] = [row["rank"], row["rank_low"], row["rank_high"], row.get("rank_tests", "")]
    line += [row["planner"], row.get("version", ""), row["owner"]]
    line += [row.get(name, "") for name in ("team", "kind", "strategy", "model_name", "parameters", "open_weights")]
    line += [row.get("declared", False), *[(row.get("runs") or {}).get(name, "") for name in _RUNS.values()]]
    line += [(row.get("normalised") or {}).get(part, "") for part in _METRIC_PARTS]
    for column in facts.columns:
        value = row["metrics"].get(column.key) or {}
        line += [value.get(part, "") for part in _METRIC_PARTS]
    for column in _ranged_columns(facts):
        ranged_value = ranged(metrics=row["metrics"], column=column) or {}
        line.append(ranged_value.get("upper", ranged_value.get("mean", "")))
    line += [row["outcomes"].get(outcome, 0) for outcome in _OUTCOMES]
    line += [usage.get(name, "") for name in _USAGE]
    line += [(row.get("readable") or {}).get(part, "") for part in _METRIC_PARTS]
    reliability = row.get("reliability") or {}
    line += [(reliability.get(name) or {}).get(end, "") for name in RELIABILITY for end in _ENDS]
    line += [(row.get("cost") or {}).get(name, "") for name in ("usd", *_PRICES)]
    line += [row["finished"], f"{facts.site}/evaluations/{row['evaluation']}/", facts.suite, facts.suite_version]
    return [*line, facts.suite_digest, *facts.conditions.values(), facts.snapshot, facts.snapshot_digest]


def _ranged_columns(facts: BoardFacts) -> list[Column]:
    """The columns with an upper end of the mean for undecided tasks."""
    return [column for column in facts.columns if column.undecided]
