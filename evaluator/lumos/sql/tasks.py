"""InterCode's SQL tasks: requests in English on one database, gold queries, and known defects, by index."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any


class Defect(StrEnum):
    """A kind of defect of a task's gold query."""

    REFUSED = "refused"
    """Rejected by MySQL 8: a table named by the reserved word SHOW, a derived table without a name, `COUNT (*)`."""
    REFUSED_STRICT = "refused_strict"
    """Rejected by MySQL's default ONLY_FULL_GROUP_BY: it selects or orders by columns not determined by the groups."""
    ARBITRARY = "arbitrary"
    """Its rows depend on the engine: ties at a LIMIT, or a column that the groups do not determine."""
    EMPTY = "empty"
    """Its result is empty, so any statement without rows has the full reward. Most read empty tables."""


DEFECTS: Mapping[Defect, frozenset[int]] = {
    Defect.REFUSED: frozenset({164, 178, 225, 531, 638, 802}),
    Defect.REFUSED_STRICT: frozenset({54, 83, 271, 301, 525, 704, 710, 798, 803, 850, 892, 942, 967}),
    Defect.ARBITRARY: frozenset(
        {
            30, 50, 110, 129, 198, 349, 406, 484, 525, 569, 722, 738, 790, 803, 811, 842, 850, 871, 916, 964,
        }
    ),
    Defect.EMPTY: frozenset(
        {
            17, 19, 74, 75, 80, 81, 94, 106, 109, 115, 174, 210, 240, 255, 258, 271, 279, 282, 288, 299, 306, 313, 344,
            359, 371, 382, 387, 395, 401, 405, 418, 428, 436, 463, 472, 495, 497, 509, 522, 534, 547, 559, 581, 596,
            613, 641, 651, 655, 671, 686, 688, 692, 698, 704, 717, 725, 750, 770, 771, 787, 795, 824, 834, 853, 875,
            892, 898, 909, 917, 920, 921, 937, 941, 942, 944, 945, 972, 975, 997, 1032,
        }
    ),
}  # fmt: skip
"""Determined by executing all gold queries on MariaDB 10.11 and here; `REFUSED_STRICT` by the keys of the tables."""


def defects_of(index: int) -> tuple[Defect, ...]:
    """The defects of a task."""
    return tuple(defect for defect, indices in DEFECTS.items() if index in indices)


_NOT_IN_THE_DUMP = "sqlite_sequence"


class Hardness(StrEnum):
    """Spider's four levels, by the components of the gold query."""

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
    """MySQL query, hidden from planners."""
    hardness: Hardness
    tables: Mapping[str, tuple[str, ...]]
    """The database's tables and columns as released, except SQLite's internal table, which the dump lacks."""
    defects: tuple[Defect, ...]


class TaskFileError(ValueError):
    """Invalid file; the message names the file, the place and the expected form."""


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
    tables = row.get("db_tables")
    if not isinstance(tables, dict) or not all(
        isinstance(columns, list) and all(isinstance(column, str) for column in columns) for columns in tables.values()
    ):
        raise TaskFileError(f'{place}: "db_tables" must be an object of lists of columns')
    return SqlTask(
        key=f"intercode/{index}", database=_text(row, field="db", place=place),
        request=_text(row, field="query", place=place), gold=_text(row, field="gold", place=place), hardness=hardness,
        tables={name: tuple(columns) for name, columns in tables.items() if name != _NOT_IN_THE_DUMP},
        defects=defects_of(index),
    )  # fmt: skip


def _text(row: Mapping[str, Any], *, field: str, place: str) -> str:
    value = row.get(field)
    if not isinstance(value, str) or not value.strip():
        raise TaskFileError(f'{place}: "{field}" must be a text that is not empty')
    return value
