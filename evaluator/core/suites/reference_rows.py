"""Figures that papers report, as data with their sources. They were not measured here, and no ranking counts them.

The files `reference_figures/*.toml` of the papers' folders hold the figures of their result tables: OpenAGI's Table 5,
LUMOS's 1 to 3, 6 and 7, ControlLLM's Tables 3, 4, 5, A4 and A5, and the result of ARC's multi-expert system. What is
different from a board's own measurement stands beside them; a column that does not mean what the board's column of that
name means is kept apart.
"""

import tomllib
from functools import cache
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from evaluator.core import canonical_json

_ROOMS = Path(__file__).parents[2]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Source(_Record):
    """Where figures were published."""

    short: str
    """The paper's name, as it stands beside a row."""
    citation: str
    url: str


class ReferenceColumn(_Record):
    """One column of a paper's table."""

    key: str
    label: str
    board_column: str | None = None
    """Key of the board's column that means the same; None where there is none."""
    not_on_board: str = ""
    """Why it is not in the board's columns, as sentences; empty for a column that is."""
    differs: str = ""
    """How the measurement differs although the column means the same, as a sentence."""
    higher_is_better: bool = True
    lowest: float = 0.0
    """Least value that a figure may have."""
    highest: float = 1.0
    unit: str = ""
    decimals: int = 2
    """How many the paper prints."""

    def printed(self, figure: float) -> str:
        """A figure as the paper prints it."""
        return f"{figure:.{self.decimals}f}{self.unit and ' ' + self.unit}"

    @model_validator(mode="after")
    def _stands_somewhere(self) -> Self:
        if (self.board_column is None) != bool(self.not_on_board):
            raise ValueError(f"column {self.key} needs either board_column or not_on_board")
        return self


class ReferenceRow(_Record):
    """One row of a paper's table: a system under one setting."""

    name: str
    figures: dict[str, float]
    """Figure by the column's key, as printed."""
    note: str = ""
    """What is to be known of this row alone, as sentences."""


class ReferenceTable(_Record):
    """One table of a paper."""

    name: str
    """As the paper counts it: `Table 5`."""
    title: str
    differs: tuple[str, ...]
    """What is different from the board's measurement, a sentence each."""
    columns: tuple[ReferenceColumn, ...]
    rows: tuple[ReferenceRow, ...]
    source: Source

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        wanted = {column.key for column in self.columns}
        for row in self.rows:
            if row.figures.keys() != wanted:
                raise ValueError(f"{self.name}, {row.name}: figures for {sorted(row.figures)}, not {sorted(wanted)}")
            for column in self.columns:
                if not column.lowest <= row.figures[column.key] <= column.highest:
                    raise ValueError(f"{self.name}, {row.name}: {column.key} is {row.figures[column.key]}")
        return self

    @property
    def board_columns(self) -> tuple[ReferenceColumn, ...]:
        """The columns that mean what a column of the board means."""
        return tuple(column for column in self.columns if column.board_column is not None)

    @property
    def other_columns(self) -> tuple[ReferenceColumn, ...]:
        """The columns that stand in a table of their own."""
        return tuple(column for column in self.columns if column.board_column is None)


class _File(_Record):
    suites: tuple[str, ...]
    source: Source
    tables: list[dict[str, object]] = Field(min_length=1)


@cache
def reference_tables(suite: str) -> tuple[ReferenceTable, ...]:
    """The papers' tables for the suite with this slug; empty if no paper reports figures for it."""
    return _all_tables().get(suite, ())


@cache
def reference_digest(suite: str) -> str:
    """SHA-256 over the tables for a suite, so that whoever keeps them learns of changes; empty if there are none."""
    tables = reference_tables(suite)
    return canonical_json.digest([table.model_dump(mode="json") for table in tables]) if tables else ""


@cache
def _all_tables() -> dict[str, tuple[ReferenceTable, ...]]:
    by_suite: dict[str, tuple[ReferenceTable, ...]] = {}
    for path in sorted(_ROOMS.glob("*/reference_figures/*.toml"), key=lambda path: path.name):
        file = _File.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
        tables = tuple(ReferenceTable.model_validate({**table, "source": file.source}) for table in file.tables)
        for suite in file.suites:
            by_suite[suite] = (*by_suite.get(suite, ()), *tables)
    return by_suite
