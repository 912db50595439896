"""Parser of the dump: the statements of `mysqldump` that define databases, tables and rows. Others are skipped.

file      := (statement ";")*
statement := CREATE DATABASE [IF NOT EXISTS] name ... | USE name
           | CREATE TABLE name "(" item ("," item)* ")" ...
           | INSERT INTO name VALUES row ("," row)*
           | one of DROP, LOCK, UNLOCK, SET, GRANT, FLUSH, CREATE USER, or a comment alone
item      := name type [COLLATE name] [NOT NULL] [DEFAULT value] [AUTO_INCREMENT]
           | PRIMARY KEY names | [UNIQUE] KEY name names | CONSTRAINT ...
row       := "(" value ("," value)* ")"
value     := NULL | number | 'text with \\-escapes'
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from evaluator.lumos.sql.schema import KINDS, Column, Kind, Schema, Table

Value = None | int | float | str
"""A value of a row; dates are text."""
Row = tuple[Value, ...]


class DumpError(ValueError):
    """The dump cannot be read; the message names the line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """A schema and the rows of its tables."""

    schema: Schema
    rows: dict[str, list[Row]]
    """By table, in the dump's order, which is by primary key."""


@dataclass(slots=True, kw_only=True)
class _PartialDatabase:
    tables: dict[str, Table] = field(default_factory=dict)
    rows: dict[str, list[Row]] = field(default_factory=dict)


_STRING = r"'(?:[^'\\]|\\.|'')*'"
_PIECE = re.compile(rf"{_STRING}|`[^`]*`|--[^\n]*|/\*.*?\*/|;|[^'`;/-]+|[/-]", re.DOTALL)
_NAME = r"`([^`]+)`"
_SKIPPED = re.compile(r"(?:DROP TABLE|LOCK TABLES|UNLOCK TABLES|SET|GRANT|FLUSH|CREATE USER|CREATE DATABASE)\b")
_USE = re.compile(rf"USE {_NAME}")
_CREATE = re.compile(rf"CREATE TABLE {_NAME} \((.*)\)[^)]*", re.DOTALL)
_INSERT = re.compile(rf"INSERT INTO {_NAME} VALUES\s*")
_COLUMN = re.compile(
    rf"{_NAME} (?P<type>(?P<base>\w+)(?:\([\d,]+\))?)(?: COLLATE \w+)?(?P<not_null> NOT NULL)?(?: NULL)?"
    rf"(?: DEFAULT (?P<default>{_STRING}|\w+))?(?P<extra> AUTO_INCREMENT)?"
)
_KEY = re.compile(rf"(?P<kind>PRIMARY KEY|UNIQUE KEY|KEY)(?: {_NAME})? \((?P<names>(?:[^()]|\(\d+\))*)\)")
_VALUE = re.compile(rf"\s*(?:(?P<null>NULL)|(?P<number>-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)|(?P<text>{_STRING}))\s*")
_COMMA = re.compile(r",\s*(?=\()")
_ESCAPE = re.compile(r"\\(.)|''", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "0": "\0", "Z": "\x1a", "b": "\b"}


def read_dump(text: str) -> dict[str, Database]:
    """The databases of a dump by name, in its order.

    Raises:
        DumpError: an unknown statement, or an invalid table or row.
    """
    databases: dict[str, _PartialDatabase] = {}
    current: _PartialDatabase | None = None
    for line, statement in _statements(text):
        try:
            if use := _USE.fullmatch(statement):
                current = databases.setdefault(use[1], _PartialDatabase())
            elif not _SKIPPED.match(statement):
                _add(statement=statement, to=current)
        except DumpError as error:
            raise DumpError(f"line {line} of the dump: {error}") from None
    return {
        name: Database(schema=Schema(name=name, tables=partial.tables), rows=partial.rows)
        for name, partial in databases.items()
    }


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Each statement without comments and semicolon, with the number of its first line."""
    parts: list[str] = []
    position, line, first = 0, 1, 1
    while position < len(text):
        match = _PIECE.match(text, position)
        if match is None:
            raise DumpError(f"line {line} of the dump: a text or a comment that begins here has no end")
        piece = match[0]
        if piece == ";":
            if statement := "".join(parts).strip():
                yield first, statement
            parts = []
        elif not piece.startswith(("--", "/*")) and (parts or piece.strip()):
            if not parts:
                first = line + piece[: len(piece) - len(piece.lstrip())].count("\n")
            parts.append(piece)
        line += piece.count("\n")
        position = match.end()
    if "".join(parts).strip():
        raise DumpError(f"line {first} of the dump: the last statement has no semicolon; the file is cut off")


def _add(*, statement: str, to: _PartialDatabase | None) -> None:
    if to is None:
        raise DumpError("a statement before any USE")
    if create := _CREATE.fullmatch(statement):
        to.tables[create[1]] = _table(name=create[1], body=create[2], statement=statement)
        to.rows[create[1]] = []
    elif insert := _INSERT.match(statement):
        table = to.tables.get(insert[1])
        if table is None:
            raise DumpError(f"rows of the table {insert[1]}, which is not defined before")
        to.rows[table.name] += _rows(table=table, text=statement, position=insert.end())
    else:
        raise DumpError(f"a statement of a kind that is not known: {statement[:60]!r}")


def _table(*, name: str, body: str, statement: str) -> Table:
    columns: list[Column] = []
    keys: dict[str, list[tuple[str, ...]]] = {"PRIMARY KEY": [], "UNIQUE KEY": [], "KEY": []}
    for item in (line.strip().removesuffix(",") for line in body.strip().split("\n")):
        if key := _KEY.fullmatch(item):
            keys[key["kind"]].append(tuple(re.findall(_NAME, key["names"])))
        elif column := _COLUMN.fullmatch(item):
            columns.append(_column(column))
        elif not item.startswith("CONSTRAINT "):
            raise DumpError(f"table {name}: a definition that is not known: {item!r}")
    return Table(
        name=name, columns=tuple(columns), primary_key=keys["PRIMARY KEY"][0] if keys["PRIMARY KEY"] else (),
        unique_keys=tuple(keys["UNIQUE KEY"]), keys=tuple(keys["KEY"]), statement=statement,
    )  # fmt: skip


def _column(match: re.Match[str]) -> Column:
    kind = KINDS.get(match["base"].lower())
    if kind is None:
        raise DumpError(f"column {match[1]} is of a type that is not known: {match['type']}")
    default = match["default"]
    return Column(
        name=match[1], type=match["type"], kind=kind, is_nullable=match["not_null"] is None,
        default=None if default in (None, "NULL") else _unquoted(default),
        extra=(match["extra"] or "").strip().lower(),
    )  # fmt: skip


def _rows(*, table: Table, text: str, position: int) -> Iterator[Row]:
    """The rows from a position on to the end of the statement."""
    while True:
        values: list[Value] = []
        has_value = text[position] == "("
        while has_value:
            match = _VALUE.match(text, position + 1)
            if match is None:
                raise DumpError(f"table {table.name}: no value at {text[position + 1 : position + 40]!r}")
            if match["null"]:
                values.append(None)
            elif (number := match["number"]) is not None:
                values.append(float(number) if re.search(r"[.eE]", number) else int(number))
            else:
                values.append(_unquoted(match["text"]))
            position = match.end()
            has_value = text[position : position + 1] == ","
        if text[position : position + 1] != ")" or len(values) != len(table.columns):
            raise DumpError(f"table {table.name}: a row has {len(values)} values, not {len(table.columns)}")
        yield tuple(_stored(value, column=column) for value, column in zip(values, table.columns, strict=True))
        position += 1
        if position == len(text):
            return
        comma = _COMMA.match(text, position)
        if comma is None:
            raise DumpError(f"table {table.name}: {text[position : position + 20]!r} after a row")
        position = comma.end()


def _unquoted(text: str) -> str:
    if not text.startswith("'"):
        return text
    return _ESCAPE.sub(lambda escape: _ESCAPED.get(escape[1], escape[1]) if escape[1] else "'", text[1:-1])


def _stored(value: Value, *, column: Column) -> Value:
    """The value in the type of its column."""
    if column.kind is Kind.REAL and isinstance(value, int):
        return float(value)
    if value is not None and isinstance(value, str) == (column.kind in (Kind.INTEGER, Kind.REAL)):
        raise DumpError(f"column {column.name} of type {column.type} has the value {value!r}")
    return value
