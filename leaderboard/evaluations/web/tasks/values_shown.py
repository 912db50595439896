"""Results of actions as a task's page shows them: rows of a database as a table, everything else as text.

Rows are JSON: `{"columns": ["name"], "rows": [["Ann"]], "is_cut": true}`. A record keeps only the beginning of a long
result, so that the object may end anywhere.
"""

import json
from typing import Any, NamedTuple

from leaderboard.evaluations.web.tasks.readable_json import readable

MOST_ROWS = 20
"""Rows that are shown."""
MOST_COLUMNS = 24
_START = '{"columns": '
_BEFORE_ROWS = ', "rows": ['
_decoder = json.JSONDecoder()


class Cell(NamedTuple):
    """One value of a row."""

    text: str
    is_number: bool = False
    is_null: bool = False


class ShownTable(NamedTuple):
    """Rows with their columns."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    left_out: int
    """Rows that are known and not shown."""
    is_partial: bool
    """Whether there were more rows, of which nothing is known here."""
    columns_left_out: int


class ShownValue(NamedTuple):
    """One result."""

    text: str
    table: ShownTable | None


def shown_value(text: str) -> ShownValue:
    """A result with its table, if it is rows. JSON with grids of letters becomes readable lines."""
    return ShownValue(text=readable(text) or text, table=table_of(text))


def table_of(text: str) -> ShownTable | None:
    """The table that a text is; None if it is none."""
    if not text.startswith(_START):
        return None
    try:
        found = _whole(text) if text.endswith("}") else _beginning(text)
    except (ValueError, RecursionError):
        return None
    if found is None:
        return None
    columns, rows, is_partial = found
    if not columns or any(not isinstance(name, str) for name in columns):
        return None
    if any(not isinstance(row, list) or len(row) != len(columns) for row in rows):
        return None
    return ShownTable(
        columns=tuple(columns[:MOST_COLUMNS]),
        rows=tuple(tuple(map(_cell, row[:MOST_COLUMNS])) for row in rows[:MOST_ROWS]),
        left_out=max(0, len(rows) - MOST_ROWS),
        is_partial=is_partial,
        columns_left_out=max(0, len(columns) - MOST_COLUMNS),
    )


def _whole(text: str) -> tuple[list[Any], list[Any], bool] | None:
    value = json.loads(text)
    if not {"columns", "rows"} <= value.keys() <= {"columns", "rows", "is_cut"}:
        return None
    columns, rows = value["columns"], value["rows"]
    return (columns, rows, bool(value.get("is_cut"))) if isinstance(columns, list) and isinstance(rows, list) else None


def _beginning(text: str) -> tuple[list[Any], list[Any], bool] | None:
    """The rows before the place at which the text was cut."""
    columns, at = _decoder.raw_decode(text, len(_START))
    if not isinstance(columns, list) or not text.startswith(_BEFORE_ROWS, at):
        return None
    at += len(_BEFORE_ROWS)
    rows: list[Any] = []
    while True:
        try:
            row, at = _decoder.raw_decode(text, at)
        except ValueError:
            return columns, rows, True
        rows.append(row)
        if not text.startswith(", ", at):
            return columns, rows, True
        at += 2


def _cell(value: Any) -> Cell:
    if value is None:
        return Cell("NULL", is_null=True)
    if isinstance(value, bool | int | float):
        return Cell(str(value), is_number=True)
    return Cell(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
