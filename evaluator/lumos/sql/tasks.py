"""InterCode's SQL tasks: a request in English on one database, and the gold query."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from evaluator.lumos.sql.defects import Defect, defects_of

_NOT_IN_THE_DUMP = "sqlite_sequence"


class Hardness(StrEnum):
    """Spider's four levels, by the parts of the gold query."""

    EASY = "easy"
    MEDIUM = "medium"
    HARD = "hard"
    EXTRA = "extra"


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlTask:
    """One request."""

    key: str
    """`intercode/<index in the file>`."""
    database: str
    request: str
    gold: str
    """A query of MySQL. Planners never see it."""
    hardness: Hardness
    tables: Mapping[str, tuple[str, ...]]
    """The database's tables and their columns, as released; without a table of SQLite's own that the dump has not."""
    defects: tuple[Defect, ...]


class TaskFileError(ValueError):
    """The file is not what it should be; the message names the file, the place and what would be right."""


def read_tasks(path: Path) -> tuple[SqlTask, ...]:
    """The tasks of `ic_spider_dev.json` in the file's order.

    Raises:
        TaskFileError: the file is missing or does not have the shape of the released one.
    """
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TaskFileError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise TaskFileError(f"{path}: is not JSON in UTF-8") from None
    if not isinstance(rows, list):
        raise TaskFileError(f"{path}: the whole must be a list of tasks")
    return tuple(_task(path=path, index=index, row=row) for index, row in enumerate(rows))


def _task(*, path: Path, index: int, row: Any) -> SqlTask:
    place = f"{path}: task {index}"
    if not isinstance(row, dict):
        raise TaskFileError(f"{place} must be an object")
    try:
        hardness = Hardness(str(row.get("hardness")))
    except ValueError:
        raise TaskFileError(f'{place}: "hardness" must be one of {", ".join(Hardness)}') from None
    return SqlTask(
        key=f"intercode/{index}",
        database=_text(row, field="db", place=place),
        request=_text(row, field="query", place=place),
        gold=_text(row, field="gold", place=place),
        hardness=hardness,
        tables=_tables(row.get("db_tables"), place=place),
        defects=defects_of(index),
    )


def _text(row: Mapping[str, Any], *, field: str, place: str) -> str:
    value = row.get(field)
    if not isinstance(value, str) or not value.strip():
        raise TaskFileError(f'{place}: "{field}" must be a text that is not empty')
    return value


def _tables(value: Any, *, place: str) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict) or not all(
        isinstance(columns, list) and all(isinstance(column, str) for column in columns) for columns in value.values()
    ):
        raise TaskFileError(f'{place}: "db_tables" must be an object of lists of columns')
    return {name: tuple(columns) for name, columns in value.items() if name != _NOT_IN_THE_DUMP}
