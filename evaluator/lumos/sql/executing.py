"""`python -m evaluator.lumos.sql.executing`: executes translated statements, which are untrusted, on read-only
databases.

Two defences back up the translation: SQLite's authoriser permits only reading the database's own tables and calling
known functions, and the file is opened read-only and immutable. Steps of SQLite's virtual machine, processor time,
elapsed time, memory, lengths, rows and characters are limited. Each statement has its own connection, which takes half
a millisecond.
"""

import math
import sqlite3
import time
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import quote

from evaluator.core.canonical_json import JsonValue
from evaluator.lumos.sql.functions.scalars import LONGEST_VALUE
from evaluator.lumos.sql.functions.session import AUTHORISED, Session
from evaluator.lumos.sql.outcome import Cell, Reason, Result, StatementError
from evaluator.sandbox.limited_process import serve_many

_STEPS_BETWEEN_CHECKS = 1_000
_STEPS_OF_A_CALL = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Resource limits of a statement."""

    steps: int = 9_000_000
    """Instructions of SQLite's virtual machine; a call of a Python function counts as 50. Reached before the limits of
    time, because it is independent of the computer's speed and load."""
    processor_seconds: float = 1.0
    elapsed_seconds: float = 5.0
    rows: int = 10_000
    characters: int = 1_000_000
    """Of all values of a result together."""
    memory_bytes: int = 64 * 1024**2
    """Of SQLite, including sorting and temporary tables; the values stored by functions may use the same amount."""


class _Clock:
    """Stops a statement that exceeds its limits."""

    def __init__(self, *, limits: Limits, session: Session) -> None:
        self._limits, self._session = limits, session
        self._steps = 0
        self._processor_end = time.thread_time() + limits.processor_seconds
        self._end = time.monotonic() + limits.elapsed_seconds

    def is_over(self) -> bool:
        """Called by SQLite every `_STEPS_BETWEEN_CHECKS` steps."""
        self._steps += _STEPS_BETWEEN_CHECKS
        return (
            self._steps + _STEPS_OF_A_CALL * self._session.calls > self._limits.steps
            or time.thread_time() > self._processor_end
            or time.monotonic() > self._end
        )


def execute(sql: str, *, database: str, path: str, limits: Limits) -> Result:
    """Execute a translated statement.

    Args:
        sql: a statement of SQLite.
        database: name of the database.
        path: path of its file.
        limits: resource limits.

    Raises:
        StatementError: the statement fails, or exceeds a limit.
    """
    session = Session(database=database, most_calls=limits.steps // _STEPS_OF_A_CALL, most_bytes=limits.memory_bytes)
    try:
        with closing(sqlite3.connect(f"file:{quote(path)}?mode=ro&immutable=1", uri=True)) as connection:
            # The limit applies to the process, which has one connection. Temporary tables in memory count.
            connection.execute(f"PRAGMA hard_heap_limit = {limits.memory_bytes}")
            connection.execute("PRAGMA temp_store = MEMORY")
            restrict(connection, session=session)
            clock = _Clock(limits=limits, session=session)
            connection.set_progress_handler(clock.is_over, _STEPS_BETWEEN_CHECKS)
            with closing(connection.execute(sql)) as cursor:
                result = _read(cursor, limits=limits)
    except MemoryError:
        raise too_much_memory(limits) from None
    except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as error:
        raise _refusal(error, session=session, limits=limits) from None
    if session.is_exhausted:
        raise _too_slow(limits)
    return result


def too_much_memory(limits: Limits) -> StatementError:
    """The error of a statement that exceeds the limit of memory."""
    most = f"{limits.memory_bytes // 1024**2} MiB of memory"
    return StatementError(Reason.TOO_LARGE, f"the statement takes more than {most}; select, sort or group less")


def _read(cursor: sqlite3.Cursor, *, limits: Limits) -> Result:
    columns = tuple(column[0].replace("`", "") for column in cursor.description or ())
    rows: list[tuple[Cell, ...]] = []
    characters = 0
    for row in cursor:
        if len(rows) == limits.rows:
            return Result(columns=columns, rows=tuple(rows), is_cut=True)
        cells = tuple(_cell(value) for value in row)
        characters += sum(len(cell) if isinstance(cell, str) else 8 for cell in cells)
        if characters > limits.characters:
            return Result(columns=columns, rows=tuple(rows), is_cut=True)
        rows.append(cells)
    return Result(columns=columns, rows=tuple(rows))


def restrict(connection: sqlite3.Connection, *, session: Session) -> None:
    """Define the functions, and permit only reading."""
    connection.text_factory = lambda content: content.decode("utf-8", "replace")
    for limit, most in _MOST.items():
        connection.setlimit(limit, most)
    session.install(connection)
    connection.set_authorizer(_authorise)


_MOST = {
    sqlite3.SQLITE_LIMIT_LENGTH: LONGEST_VALUE,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 60_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 200,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 400,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 100_000,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 100,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 200,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 0,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 0,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}


def _authorise(action: int, first: str | None, second: str | None, database: str | None, _: str | None) -> int:
    """Permits SELECT, recursion, known functions, and reading columns of tables other than SQLite's own."""
    if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE):
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION and (second or "").upper() in AUTHORISED:
        return sqlite3.SQLITE_OK
    is_own = (first or "").lower().startswith(("sqlite_", "pragma_")) or second == "ROWID"
    if action == sqlite3.SQLITE_READ and database in ("main", None) and not is_own:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _cell(value: object) -> Cell:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, float) and not math.isfinite(value):
        raise StatementError(Reason.TOO_LARGE, "a number of the result is out of range")
    assert value is None or isinstance(value, int | float | str)
    return value


def _refusal(error: Exception, *, session: Session, limits: Limits) -> StatementError:
    """SQLite's error as a failure with a message for the planner."""
    message = str(error)
    if session.failure is not None:
        return StatementError(session.failure.reason, session.failure.message)
    if message == "interrupted":
        return _too_slow(limits)
    for beginning, reason, sentence in _SENTENCES:
        if message.startswith(beginning):
            return StatementError(reason, sentence.format(message[len(beginning) :].strip(": ")[:80]))
    return StatementError(Reason.FAILED, f"the statement failed: {message[:200]}")


def _too_slow(limits: Limits) -> StatementError:
    return StatementError(Reason.TOO_SLOW, f"the statement takes more than {limits.steps:,} steps; join or read less")


_SENTENCES = (
    ("no such column", Reason.UNKNOWN_NAME, "there is no column {}; DESCRIBE shows the columns of a table"),
    ("no such table", Reason.UNKNOWN_NAME, "there is no table {}; SHOW TABLES lists them"),
    ("ambiguous column name", Reason.UNKNOWN_NAME, "the column {} is in several tables; name the table too"),
    ("string or blob too big", Reason.TOO_LARGE, f"a value is longer than {LONGEST_VALUE} bytes"),
    ("too many ", Reason.TOO_LARGE, "the statement has too many {}"),
    ("at most 64 tables", Reason.TOO_LARGE, "a join takes at most 64 tables"),
    ("Expression tree is too large", Reason.TOO_DEEP, "an expression of the statement is nested too deeply"),
    ("parser stack overflow", Reason.TOO_DEEP, "the statement is nested too deeply"),
    ("LIKE or GLOB pattern too complex", Reason.TOO_LARGE, "a pattern of LIKE is too long"),
    ("near ", Reason.SYNTAX, "syntax error near {}"),
    ("incomplete input", Reason.SYNTAX, "the statement is not complete"),
    ("wrong number of arguments to function", Reason.SYNTAX, "wrong number of arguments of {}"),
    ("misuse of ", Reason.SYNTAX, "misuse of {}"),
    ("not authorized", Reason.UNSUPPORTED, "the statement uses what is not available here"),
    ("access to ", Reason.UNSUPPORTED, "access to {}"),
)
"""Prefixes of SQLite's messages; the rest of the message replaces the placeholder."""


def _answer(request: Any) -> JsonValue:
    """Answers `sql`, `database`, `path` and `limits` with `columns`, `rows` and `is_cut`, or `reason` and `message`."""
    try:
        result = execute(
            request["sql"], database=request["database"], path=request["path"], limits=Limits(**request["limits"])
        )
    except StatementError as error:
        return asdict(error.failure)
    rows: list[JsonValue] = [list(row) for row in result.rows]
    return {"columns": list(result.columns), "rows": rows, "is_cut": result.is_cut}


if __name__ == "__main__":
    serve_many(_answer)
