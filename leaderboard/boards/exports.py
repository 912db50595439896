"""Snapshots as files: CSV, JSON and BibTeX. Pure: everything comes in, texts go out."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from evaluator.metrics.undecided import ranged, undecided_words
from evaluator.suites.base import Column
from leaderboard.boards.models import Snapshot
from leaderboard.boards.reliability import RELIABILITY, reliability_of
from leaderboard.catalog.models import Suite
from leaderboard.catalog.services import primary_metric
from leaderboard.evaluations.board_of import Conditions
from leaderboard.results.figures import figure, interval_words

JSON_FORMAT = "planarena-board/1"
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
Kind = type[str | int | float | bool | datetime]
"""What a column holds."""
_METRIC_PARTS = ("mean", "low", "high", "tasks")
_ENDS = ("mean", "low", "high")
_OUTCOMES = ("scored", "planner_fault", "infra_fault", "not_run", "cancelled")
_USAGE = ("seconds", "prompt_tokens", "completion_tokens")
_RUNS = {
    "runs_shown": "policy", "runs": "count", "runs_sd": "sd", "runs_low": "low", "runs_high": "high",
    "runs_identical": "identical",
}  # fmt: skip
"""Columns about the runs of a row, and their names in it."""
_BIBTEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip


class Exported(NamedTuple):
    """A snapshot with everything that its files name."""

    snapshot: Snapshot
    """With its suite. Its content may be another one than `rows` and `coverage`."""
    address: str
    """Absolute address of the snapshot's page."""
    site: str
    """Prefix of all other addresses, without a slash at its end."""
    rows: Sequence[Mapping[str, Any]]
    coverage: Mapping[str, int]


def as_csv(board: Exported) -> str:
    """One line for each row, RFC 4180. Every line names suite, conditions and snapshot, so that a line cut out of the
    file is still evidence. Texts that a spreadsheet would take for a formula begin with an apostrophe."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(columns(board))
    for line in lines(board):
        writer.writerow([safe_cell(value) for value in line])
    return file.getvalue()


def columns(board: Exported) -> dict[str, Kind]:
    """The columns of a table of the board, in order, with what they hold."""
    keys = [metric["key"] for metric in board.snapshot.suite.metrics]
    named: list[tuple[Kind, Iterable[str]]] = [
        (int, ("rank", "rank_low", "rank_high", "rank_tests")),
        (str, ("planner", "version", "owner", "team", "kind", "strategy", "model_name")),
        (int, ("parameters",)),
        (bool, ("open_weights", "declared")),
        (str, ("runs_shown",)),
        (int, ("runs",)),
        (float, ("runs_sd", "runs_low", "runs_high")),
        (bool, ("runs_identical",)),
        *_metric_columns(["normalised", *keys]),
        (float, (f"{column.key}_upper" for column in _ranged_columns(board))),
        (int, _OUTCOMES),
        (float, (f"{name}_per_task" for name in _USAGE)),
        (float, (f"{key}_{end}" for key in RELIABILITY for end in _ENDS)),
        (float, ("usd_per_task", "usd_per_million_prompt_tokens", "usd_per_million_completion_tokens")),
        (datetime, ("finished",)),
        (str, ("evaluation", "suite", "suite_version", "suite_digest", "profile", "profile_digest", "split")),
        (int, ("samples",)),
        (str, ("data_digest", "season")),
        (int, ("snapshot",)),
        (str, ("snapshot_digest",)),
    ]
    return {name: kind for kind, names in named for name in names}


def _metric_columns(keys: Iterable[str]) -> Iterator[tuple[Kind, tuple[str, ...]]]:
    for key in keys:
        yield float, tuple(f"{key}_{end}" for end in _ENDS)
        yield int, (f"{key}_tasks",)


def lines(board: Exported) -> Iterator[list[Any]]:
    """The values of each row in the order of `columns`; None or an empty text where there is none."""
    keys = [metric["key"] for metric in board.snapshot.suite.metrics]
    return (_line(row=row, keys=keys, board=board) for row in board.rows)


def as_json(board: Exported) -> str:
    """The rows as they are kept (`ranking.py` documents them), with what they were measured under."""
    document = {**facts_of(board), "content": {"rows": list(board.rows), "coverage": dict(board.coverage)}}
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def facts_of(board: Exported) -> dict[str, Any]:
    """What the rows were measured under, as JSON values."""
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
        "conditions": {
            **{name: getattr(snapshot, name) for name in ("profile", *Conditions._fields)},
            "season": snapshot.season_id,
        },
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
            "url": board.address,
            "note": _note(board),
        },
    )


def row_as_bibtex(*, board: Exported, row: Mapping[str, Any]) -> str:
    """An entry that cites one row: its author is who submitted the planner, or the team."""
    suite, finished = board.snapshot.suite, datetime.fromisoformat(row["finished"])
    rank = "unranked" if row["rank"] is None else f"rank {row['rank']}"
    fields = {
        "title": f"{row['planner']} on {suite.title}, evaluated by PlanArena",
        "author": f"{{{bibtex_text(str(row.get('team') or row['owner']))}}}",
        **published_in(finished),
        "url": f"{board.site}/evaluations/{row['evaluation']}/",
        "note": f"{_scores(row=row, suite=suite)}, {rank} of {len(board.rows)}. {_note(board)}",
    }
    return bibtex_entry(key=f"planarena-{suite.slug}-{str(row['evaluation'])[:8]}", fields=fields)


def _line(*, row: Mapping[str, Any], keys: Iterable[str], board: Exported) -> list[Any]:
    usage, snapshot, suite = row.get("usage") or {}, board.snapshot, board.snapshot.suite
    line: list[Any] = [row["rank"], row["rank_low"], row["rank_high"], row.get("rank_tests", "")]
    line += [row["planner"], row.get("version", ""), row["owner"]]
    line += [row.get(name, "") for name in ("team", "kind", "strategy", "model_name", "parameters", "open_weights")]
    line += [row.get("declared", False), *[(row.get("runs") or {}).get(name, "") for name in _RUNS.values()]]
    line += [(row.get("normalised") or {}).get(part, "") for part in _METRIC_PARTS]
    for key in keys:
        value = row["metrics"].get(key) or {}
        line += [value.get(part, "") for part in _METRIC_PARTS]
    for column in _ranged_columns(board):
        found = ranged(metrics=row["metrics"], column=column) or {}
        line.append(found.get("upper", found.get("mean", "")))
    line += [row["outcomes"].get(outcome, 0) for outcome in _OUTCOMES]
    line += [usage.get(name, "") for name in _USAGE]
    line += [(reliability_of(row, key) or {}).get(end, "") for key in RELIABILITY for end in _ENDS]
    line += [(row.get("cost") or {}).get(name, "") for name in ("usd", "prompt_price", "completion_price")]
    line += [row["finished"], f"{board.site}/evaluations/{row['evaluation']}/", suite.slug, suite.version]
    line += [suite.digest, snapshot.profile, snapshot.profile_digest, snapshot.split, snapshot.samples]
    return [*line, snapshot.data_digest, snapshot.season_id or "", snapshot.number, snapshot.digest]


def _ranged_columns(board: Exported) -> list[Column]:
    """The columns whose means have an upper end, since tasks may be undecided."""
    return [column for column in board.snapshot.suite.columns if column.undecided]


def safe_cell(value: Any) -> Any:
    """A value for CSV: a text that a spreadsheet would take for a formula begins with an apostrophe."""
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return "" if value is None else value


def _scores(*, row: Mapping[str, Any], suite: Suite) -> str:
    primary = primary_metric(suite)
    value = ranged(metrics=row["metrics"], column=suite.ranking_column)
    if not value:
        return f"no value for {primary['label']}"
    notes = ", ".join(words for words in (undecided_words(value), interval_words(value)) if words)
    return f"{primary['label']} {figure(value)}" + (f" ({notes})" if notes else "")


def _note(board: Exported) -> str:
    snapshot, suite = board.snapshot, board.snapshot.suite
    return (
        f"Suite {suite.slug} {suite.version}, profile {snapshot.profile}, split {snapshot.split}; "
        f"snapshot {snapshot.number}, SHA-256 {snapshot.digest}"
    )


def published_in(day: datetime) -> dict[str, str]:
    """Year and month for `bibtex_entry`."""
    return {"year": f"{day:%Y}", "month": f"{day:%b}".lower()}


def bibtex_entry(*, key: str, fields: Mapping[str, str]) -> str:
    """A BibTeX entry. Only `url` and `author`, which are made by the site and hold braces of their own, go in as they
    are; `month` is a name that BibTeX knows."""
    lines = []
    for name, value in fields.items():
        if name == "month":
            lines.append(f"  {name} = {value},")
        else:
            lines.append(f"  {name} = {{{value if name in {'url', 'author'} else bibtex_text(value)}}},")
    return "\n".join([f"@misc{{{re.sub(r'[^A-Za-z0-9-]', '', key)},", *lines, "}", ""])


def bibtex_text(text: str) -> str:
    """A text in which no character is a command."""
    return "".join(_BIBTEX.get(character, character) for character in text)
