"""Figures reported in papers on the board page: as reference rows, and the rest in separate tables."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.utils.text import slugify

from evaluator.core.suites.reference_rows import ReferenceColumn, ReferenceRow, ReferenceTable, Source, reference_tables
from leaderboard.boards.drawing.forest import Forest, Marks
from leaderboard.catalog.models import Suite


class ReportedCell(NamedTuple):
    """A reported figure in a column of the board."""

    figure: str
    """Empty if the paper reports none of this name."""
    is_other: bool
    """Whether the paper's definition differs from the board's; the table below explains how."""
    is_primary: bool
    marks: Marks | None
    """In the forest plot, if the paper's figure means what the board's does."""


class ReportedRow(NamedTuple):
    """A system of a paper, listed below the ranking without a rank."""

    name: str
    note: str
    cells: tuple[ReportedCell, ...]


class OtherRow(NamedTuple):
    """The figures of a system that have no equivalent column on the board."""

    name: str
    figures: tuple[str, ...]


class ReportedTable(NamedTuple):
    """One table of a paper."""

    anchor: str
    heading: str
    title: str
    source: Source
    rows: tuple[ReportedRow, ...]
    """In the board's columns; empty if no column of the paper has an equivalent."""
    notes: tuple[str, ...]
    """Differences from the board's figures, as sentences."""
    other_columns: tuple[ReferenceColumn, ...]
    other_rows: tuple[OtherRow, ...]


def reported(
    *, suite: Suite, metrics: Sequence[Mapping[str, Any]], forest: Forest | None, hidden: bool = False
) -> tuple[ReportedTable, ...]:
    """The papers' tables for a suite, in the order of the shown columns; empty if `hidden`."""
    return () if hidden else tuple(_table(table, metrics, forest=forest) for table in reference_tables(suite.slug))


def _table(table: ReferenceTable, metrics: Sequence[Mapping[str, Any]], *, forest: Forest | None) -> ReportedTable:
    heading = f"{table.source.short}, {table.name}"
    # A figure that the board's table shows is not repeated below it.
    shown = {metric["key"] for metric in metrics} if table.board_columns else set()
    further = tuple(column for column in table.other_columns if column.key not in shown)
    return ReportedTable(
        anchor=f"reported-{slugify(heading)}",
        heading=heading,
        title=table.title,
        source=table.source,
        rows=tuple(_row(row=row, table=table, metrics=metrics, forest=forest) for row in table.rows)
        if table.board_columns
        else (),
        notes=tuple(_notes(table)),
        other_columns=further,
        other_rows=tuple(
            OtherRow(row.name, tuple(column.printed(row.figures[column.key]) for column in further))
            for row in table.rows
        ),
    )


def _row(
    *, row: ReferenceRow, table: ReferenceTable, metrics: Sequence[Mapping[str, Any]], forest: Forest | None
) -> ReportedRow:
    by_column = {column.key: column for column in table.other_columns}
    by_column |= {column.board_column: column for column in table.board_columns if column.board_column}
    cells = []
    for metric in metrics:
        column = by_column.get(metric["key"])
        figure = "" if column is None else column.printed(row.figures[column.key])
        is_other = column is not None and column.board_column is None
        is_primary = bool(metric.get("primary"))
        is_drawn = forest is not None and is_primary and column is not None and not is_other and column.highest == 1
        marks = forest.marks({"mean": row.figures[column.key]}) if forest and column and is_drawn else None
        cells.append(ReportedCell(figure=figure, is_other=is_other, is_primary=is_primary, marks=marks))
    return ReportedRow(name=row.name, note=row.note, cells=tuple(cells))


def _notes(table: ReferenceTable) -> list[str]:
    notes = list(table.differs)
    notes += [f"{column.label}: {column.differs}" for column in table.columns if column.differs]
    shared: dict[str, list[str]] = {}
    for column in table.other_columns:
        shared.setdefault(column.not_on_board, []).append(column.label)
    notes += [f"{', '.join(labels)}: {why}" for why, labels in shared.items()]
    return notes + [f"{row.name}: {row.note}" for row in table.rows if row.note]
