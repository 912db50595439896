"""Schemas of the dump's databases: tables, columns and keys."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """Storage type of a column."""

    INTEGER = "integer"
    REAL = "real"
    TEXT = "text"
    DATE = "date"
    """Text of the form `2018-03-19`."""
    MOMENT = "moment"
    """Text of the form `2018-03-19 15:39:29`."""


KINDS = {
    "int": Kind.INTEGER, "float": Kind.REAL, "double": Kind.REAL, "decimal": Kind.REAL, "char": Kind.TEXT,
    "varchar": Kind.TEXT, "text": Kind.TEXT, "date": Kind.DATE, "datetime": Kind.MOMENT, "timestamp": Kind.MOMENT,
}  # fmt: skip
"""By MySQL's type, without its length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column, as in the result of `DESCRIBE`."""

    name: str
    type: str
    """MySQL's type, such as `varchar(255)`."""
    kind: Kind
    is_nullable: bool
    default: str | None
    extra: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table and the statement that creates it."""

    name: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...]
    unique_keys: tuple[tuple[str, ...], ...]
    keys: tuple[tuple[str, ...], ...]
    statement: str
    """`CREATE TABLE ...` of the dump, without the semicolon."""

    def key_of(self, column: Column) -> str:
        """The column `Key` of `DESCRIBE`: PRI, UNI, MUL or empty."""
        if column.name in self.primary_key:
            return "PRI"
        if (column.name,) in self.unique_keys:
            return "UNI"
        return "MUL" if any(key[0] == column.name for key in (*self.keys, *self.unique_keys)) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """The tables of a database by name, in the dump's order."""

    name: str
    tables: Mapping[str, Table]

    def table(self, name: str) -> Table | None:
        """The table of this name, case-insensitive."""
        return next((table for key, table in self.tables.items() if key.lower() == name.lower()), None)

    def kind_of(self, column: str, *, tables: Iterable[str]) -> Kind | None:
        """The kind of the column of this name in some tables; None if no table has it, or the kinds differ."""
        columns = [each for table in map(self.table, tables) if table is not None for each in table.columns]
        kinds = {each.kind for each in columns if each.name.lower() == column.lower()}
        return kinds.pop() if len(kinds) == 1 else None
