"""Executing a planner's statements on the databases: translated here, executed in a process with limits (`executing`).

SHOW and DESCRIBE are answered from the dump; tables are named in lower case, as InterCode's server names them. Threads
share nothing but remembered translations and idle processes.
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
    """The answer to a statement of this kind, or None if it is of another.

    Args:
        text: without comments before and without a semicolon behind it.
        schema: of the database in use.
        databases: names of all databases.

    Raises:
        StatementError: the statement is not one of those above, or names a table or a database that is not there.
    """
    if not _BEGINNING.match(text):
        return None
    for name, pattern in _PATTERNS.items():
        if found := pattern.fullmatch(text):
            _check_database(found, schema=schema)
            if name == "databases":
                return _listed("Database", (one.lower() for one in databases), found=found)
            return _ANSWERS[name](found, schema)
    raise StatementError(
        Reason.UNSUPPORTED,
        "of this kind there are SHOW TABLES, SHOW DATABASES, SHOW COLUMNS FROM table, SHOW CREATE TABLE table, and "
        "DESCRIBE table",
    )


def _tables(found: re.Match[str], schema: Schema) -> Result:
    listed = _listed(f"Tables_in_{schema.name.lower()}", map(str.lower, schema.tables), found=found)
    if not found["full"]:
        return listed
    rows = tuple((*row, "BASE TABLE") for row in listed.rows)
    return Result(columns=(*listed.columns, "Table_type"), rows=rows)


def _columns(found: re.Match[str], schema: Schema) -> Result:
    table = _table(found, schema=schema)
    groups = found.groupdict()
    wanted = groups.get("column_quoted") or groups.get("column")
    pattern = groups.get("pattern") if wanted is None else wanted
    rows: list[tuple[Cell, ...]] = [
        (one.name, one.type, "YES" if one.is_nullable else "NO", table.key_of(one), one.default, one.extra)
        for one in table.columns
        if pattern is None or _is_like(one.name, pattern=pattern)
    ]
    return Result(columns=_DESCRIPTION, rows=tuple(rows))


def _create(found: re.Match[str], schema: Schema) -> Result:
    table = _table(found, schema=schema)
    return Result(columns=("Table", "Create Table"), rows=((table.name.lower(), table.statement),))


_ANSWERS: Mapping[str, Callable[[re.Match[str], Schema], Result]] = {
    "tables": _tables,
    "columns": _columns,
    "describe": _columns,
    "create": _create,
}


def _table(found: re.Match[str], *, schema: Schema) -> Table:
    name = found["table_quoted"] or found["table"]
    table = schema.table(name)
    if table is None:
        tables = ", ".join(schema.tables)
        raise StatementError(Reason.UNKNOWN_NAME, f"there is no table {name[:60]!r}; there are: {tables}")
    return table


def _check_database(found: re.Match[str], *, schema: Schema) -> None:
    groups = found.groupdict()
    for part in ("database_quoted", "database", "prefix_quoted", "prefix"):
        name = groups.get(part)
        if name and name.lower() != schema.name.lower():
            message = f"only the database {schema.name} can be read, not {name[:60]}"
            raise StatementError(Reason.UNKNOWN_NAME, message)


def _listed(column: str, names: Iterable[str], *, found: re.Match[str]) -> Result:
    pattern = found["pattern"]
    kept = sorted(name for name in names if pattern is None or _is_like(name, pattern=pattern))
    return Result(columns=(column,), rows=tuple((name,) for name in kept))


def _is_like(name: str, *, pattern: str) -> bool:
    """LIKE of a short name, without backtracking: one row of the table of matching prefixes at a time."""
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
"""Of address space, for what a statement may use and for Python. Reached only by a statement that has broken its other
bounds."""
_SPARE_SECONDS = 30.0
"""To start the process, on a busy machine."""


class Runner:
    """Executes statements on the databases of a dump; may be used by several threads at once."""

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
                shown = show(without_comments(statement), schema=schema, databases=self._databases.schemas)
                if shown is not None:
                    return shown
            return self._execute(translator.translate(statement), database=database)
        except StatementError as error:
            return error.failure

    def _execute(self, sql: str, *, database: str) -> Result | Failure:
        """Execute a translated statement."""
        path = str(self._databases.path(database).absolute())
        request: Any = {"sql": sql, "database": database, "path": path, "limits": asdict(self._limits)}
        server = self._server()
        try:
            found = server.call(request)
        except LimitExceededError:
            raise too_much_memory(self._limits) from None
        finally:
            self._idle.put(server)
        if "reason" in found:
            return Failure(reason=Reason(found["reason"]), message=found["message"])
        rows = tuple(map(tuple, found["rows"]))
        return Result(columns=tuple(found["columns"]), rows=rows, is_cut=found["is_cut"])

    def _server(self) -> Server:
        """An idle process, or another one."""
        try:
            return self._idle.get_nowait()
        except Empty:
            seconds = self._limits.elapsed_seconds + _SPARE_SECONDS
            return Server(
                _MODULE, limits=ProcessLimits(memory_bytes=_PROCESS_BYTES, cpu_seconds=0, wall_seconds=seconds)
            )
