"""Reading the dump: the statements of `mysqldump` that define databases, tables and rows. All others are passed over.

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
    """By table, in the order of the dump, which is that of the primary key."""


@dataclass(slots=True, kw_only=True)
class _Open:
    """A database that is being read."""

    name: str
    tables: dict[str, Table] = field(default_factory=dict)
    rows: dict[str, list[Row]] = field(default_factory=dict)


_STRING = r"'(?:[^'\\]|\\.|'')*'"
_PIECE = re.compile(rf"{_STRING}|`[^`]*`|--[^\n]*|/\*.*?\*/|;|[^'`;/-]+|[/-]", re.DOTALL)
_NAME = r"`([^`]+)`"
_PASSED_OVER = re.compile(r"(?:DROP TABLE|LOCK TABLES|UNLOCK TABLES|SET|GRANT|FLUSH|CREATE USER|CREATE DATABASE)\b")
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
        DumpError: a statement is none of those above; a table or a row does not fit.
    """
    found: dict[str, _Open] = {}
    current: _Open | None = None
    for line, statement in _statements(text):
        try:
            if used := _USE.fullmatch(statement):
                current = found.setdefault(used[1], _Open(name=used[1]))
            elif not _PASSED_OVER.match(statement):
                _add(statement=statement, to=current)
        except DumpError as error:
            raise DumpError(f"line {line} of the dump: {error}") from None
    return {
        name: Database(schema=Schema(name=name, tables=one.tables), rows=one.rows) for name, one in found.items()
    }  # fmt: skip


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Each statement without its comments and its semicolon, and the line where it begins."""
    parts: list[str] = []
    position, line, first = 0, 1, 1
    while position < len(text):
        piece = _PIECE.match(text, position)
        if piece is None:
            raise DumpError(f"line {line} of the dump: a text or a comment that begins here has no end")
        found = piece[0]
        if found == ";":
            if statement := "".join(parts).strip():
                yield first, statement
            parts = []
        elif not found.startswith(("--", "/*")) and (parts or found.strip()):
            if not parts:
                first = line + found[: len(found) - len(found.lstrip())].count("\n")
            parts.append(found)
        line += found.count("\n")
        position = piece.end()
    if "".join(parts).strip():
        raise DumpError(f"line {first} of the dump: the last statement has no semicolon; the file is cut off")


def _add(*, statement: str, to: _Open | None) -> None:
    """Add the table or the rows of a statement to a database."""
    if to is None:
        raise DumpError("a statement before any USE")
    if created := _CREATE.fullmatch(statement):
        to.tables[created[1]] = _table(name=created[1], body=created[2], statement=statement)
        to.rows[created[1]] = []
    elif inserted := _INSERT.match(statement):
        table = to.tables.get(inserted[1])
        if table is None:
            raise DumpError(f"rows of the table {inserted[1]}, which is not defined before")
        to.rows[table.name] += _rows(table=table, text=statement, position=inserted.end())
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
        name=name,
        columns=tuple(columns),
        primary_key=keys["PRIMARY KEY"][0] if keys["PRIMARY KEY"] else (),
        unique_keys=tuple(keys["UNIQUE KEY"]),
        keys=tuple(keys["KEY"]),
        statement=statement,
    )


def _column(found: re.Match[str]) -> Column:
    kind = KINDS.get(found["base"].lower())
    if kind is None:
        raise DumpError(f"column {found[1]} is of a type that is not known: {found['type']}")
    default = found["default"]
    return Column(
        name=found[1],
        type=found["type"],
        kind=kind,
        is_nullable=found["not_null"] is None,
        default=None if default in (None, "NULL") else _unquoted(default),
        extra=(found["extra"] or "").strip().lower(),
    )


def _rows(*, table: Table, text: str, position: int) -> Iterator[Row]:
    """The rows from a position on to the end of the statement."""
    while True:
        values: list[Value] = []
        closed = text[position] == "("
        while closed:
            found = _VALUE.match(text, position + 1)
            if found is None:
                raise DumpError(f"table {table.name}: no value at {text[position + 1 : position + 40]!r}")
            values.append(_value(found))
            position = found.end()
            closed = text[position : position + 1] == ","
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


def _value(found: re.Match[str]) -> Value:
    if found["null"]:
        return None
    if (number := found["number"]) is not None:
        return float(number) if re.search(r"[.eE]", number) else int(number)
    return _unquoted(found["text"])


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
