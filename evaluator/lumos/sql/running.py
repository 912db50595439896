"""Runs a planner's statements: translates them here, and executes them in a process with limits (`executing`).

SHOW and DESCRIBE are answered from the dump; names of tables are in lower case, as on InterCode's server.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from queue import Empty, SimpleQueue
from typing import Any

from evaluator.lumos.sql import collation
from evaluator.lumos.sql.databases import Databases
from evaluator.lumos.sql.executing import Limits, too_much_memory
from evaluator.lumos.sql.outcome import Cell, Failure, Reason, Result, StatementError
from evaluator.lumos.sql.schema import Schema, Table
from evaluator.sandbox.limited_process import LimitExceededError, Server
from evaluator.sandbox.limited_process import Limits as ProcessLimits

_NAME = r"(?:`(?P<{0}_quoted>[^`]+)`|(?P<{0}>[\w$]+))"
_DATABASE = rf"(?:\s+(?:FROM|IN)\s+{_NAME.format('database')})?"
_TABLE = rf"(?:{_NAME.format('prefix')}\s*\.\s*)?{_NAME.format('table')}"
_LIKE = r"(?:\s+LIKE\s+(?P<quote>['\"])(?P<pattern>[^'\"]*)(?P=quote))?"
_NO_QUERY = r"(?!(?:SELECT|WITH|TABLE|ANALYZE|EXTENDED|FORMAT|INSERT|UPDATE|DELETE|REPLACE)\b)"
_FORMS = {
    "databases": rf"SHOW\s+(?:DATABASES|SCHEMAS){_LIKE}",
    "tables": rf"SHOW\s+(?P<full>FULL\s+)?TABLES{_DATABASE}{_LIKE}",
    "columns": rf"SHOW\s+(?:COLUMNS|FIELDS)\s+(?:FROM|IN)\s+{_TABLE}{_DATABASE}{_LIKE}",
    "describe": rf"(?:DESCRIBE|DESC|EXPLAIN)\s+{_NO_QUERY}{_TABLE}(?:\s+{_NAME.format('column')})?",
    "create": rf"SHOW\s+CREATE\s+TABLE\s+{_TABLE}",
}
_PATTERNS = {name: re.compile(form, re.IGNORECASE) for name, form in _FORMS.items()}
_BEGINNING = re.compile(r"(?:SHOW|DESCRIBE|DESC|EXPLAIN)\b", re.IGNORECASE)
_DESCRIPTION = ("Field", "Type", "Null", "Key", "Default", "Extra")


def show(text: str, *, schema: Schema, databases: Iterable[str]) -> Result | None:
    """The answer to a SHOW or DESCRIBE statement; None for other statements.

    Args:
        text: without leading comments and trailing semicolon.
        schema: schema of the current database.
        databases: names of all databases.

    Raises:
        StatementError: the statement is not supported, or names an unknown table or database.
    """
    if not _BEGINNING.match(text):
        return None
    for name, pattern in _PATTERNS.items():
        if match := pattern.fullmatch(text):
            groups = match.groupdict()
            for part in ("database_quoted", "database", "prefix_quoted", "prefix"):
                other = groups.get(part)
                if other and other.lower() != schema.name.lower():
                    message = f"only the database {schema.name} can be read, not {other[:60]}"
                    raise StatementError(Reason.UNKNOWN_NAME, message)
            if name == "databases":
                return _listed("Database", map(str.lower, databases), match=match)
            return _ANSWERS[name](match, schema)
    raise StatementError(
        Reason.UNSUPPORTED,
        "of this kind there are SHOW TABLES, SHOW DATABASES, SHOW COLUMNS FROM table, SHOW CREATE TABLE table, and "
        "DESCRIBE table",
    )


def _tables(match: re.Match[str], schema: Schema) -> Result:
    tables = _listed(f"Tables_in_{schema.name.lower()}", map(str.lower, schema.tables), match=match)
    if not match["full"]:
        return tables
    rows = tuple((*row, "BASE TABLE") for row in tables.rows)
    return Result(columns=(*tables.columns, "Table_type"), rows=rows)


def _columns(match: re.Match[str], schema: Schema) -> Result:
    table = _table(match, schema=schema)
    groups = match.groupdict()
    name = groups.get("column_quoted") or groups.get("column")
    pattern = groups.get("pattern") if name is None else name
    rows: list[tuple[Cell, ...]] = [
        (
            column.name, column.type, "YES" if column.is_nullable else "NO", table.key_of(column), column.default,
            column.extra,
        )
        for column in table.columns
        if pattern is None or _is_like(column.name, pattern=pattern)
    ]  # fmt: skip
    return Result(columns=_DESCRIPTION, rows=tuple(rows))


def _create(match: re.Match[str], schema: Schema) -> Result:
    table = _table(match, schema=schema)
    return Result(columns=("Table", "Create Table"), rows=((table.name.lower(), table.statement),))


_ANSWERS: Mapping[str, Callable[[re.Match[str], Schema], Result]] = {
    "tables": _tables,
    "columns": _columns,
    "describe": _columns,
    "create": _create,
}


def _table(match: re.Match[str], *, schema: Schema) -> Table:
    name = match["table_quoted"] or match["table"]
    table = schema.table(name)
    if table is None:
        tables = ", ".join(schema.tables)
        raise StatementError(Reason.UNKNOWN_NAME, f"there is no table {name[:60]!r}; there are: {tables}")
    return table


def _listed(column: str, names: Iterable[str], *, match: re.Match[str]) -> Result:
    pattern = match["pattern"]
    matching = sorted(name for name in names if pattern is None or _is_like(name, pattern=pattern))
    return Result(columns=(column,), rows=tuple((name,) for name in matching))


def _is_like(name: str, *, pattern: str) -> bool:
    """LIKE, by dynamic programming over the matching prefixes, without backtracking."""
    text, form = collation.key(name), collation.key(pattern + ".")[:-1]
    reached = [True] + [False] * len(text)
    for character in form:
        if character == "%":
            first = reached.index(True) if True in reached else len(reached)
            reached = [position >= first for position in range(len(reached))]
        else:
            reached = [False] + [
                before and character in ("_", text[position]) for position, before in enumerate(reached[:-1])
            ]
    return reached[-1]


_MODULE = "evaluator.lumos.sql.executing"
_PROCESS_BYTES = 256 * 1024**2
"""Limit of the address space, for a statement and for Python. Reached only if the other limits fail."""
_SPARE_SECONDS = 30.0
"""Time to start the process on a busy machine."""


class Runner:
    """Executes statements on the databases of a dump. Thread-safe."""

    def __init__(self, *, databases: Databases, limits: Limits | None = None) -> None:
        # Loads sqlglot, so it is imported only where statements are executed.
        from evaluator.lumos.sql.translation.statements import Translator

        self._databases = databases
        self._limits = limits or Limits()
        self._idle: SimpleQueue[Server] = SimpleQueue()
        self._translators: Mapping[str, Translator] = {
            name: Translator(schema) for name, schema in databases.schemas.items()
        }

    def run(self, statement: str, *, database: str) -> Result | Failure:
        """Execute one statement.

        Raises:
            KeyError: there is no such database.
        """
        # Loads sqlglot.
        from evaluator.lumos.sql.translation.parsing import MOST_CHARACTERS, without_comments

        translator = self._translators[database]
        schema = self._databases.schemas[database]
        try:
            if len(statement) <= MOST_CHARACTERS:
                answer = show(without_comments(statement), schema=schema, databases=self._databases.schemas)
                if answer is not None:
                    return answer
            return self._execute(translator.translate(statement), database=database)
        except StatementError as error:
            return error.failure

    def _execute(self, sql: str, *, database: str) -> Result | Failure:
        path = str(self._databases.path(database).absolute())
        request: Any = {"sql": sql, "database": database, "path": path, "limits": asdict(self._limits)}
        try:
            server = self._idle.get_nowait()
        except Empty:
            seconds = self._limits.elapsed_seconds + _SPARE_SECONDS
            limits = ProcessLimits(memory_bytes=_PROCESS_BYTES, cpu_seconds=0, wall_seconds=seconds)
            server = Server(_MODULE, limits=limits)
        try:
            answer = server.call(request)
        except LimitExceededError:
            raise too_much_memory(self._limits) from None
        finally:
            self._idle.put(server)
        if "reason" in answer:
            return Failure(reason=Reason(answer["reason"]), message=answer["message"])
        rows = tuple(map(tuple, answer["rows"]))
        return Result(columns=tuple(answer["columns"]), rows=rows, is_cut=answer["is_cut"])
