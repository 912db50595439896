"""Executing a planner's statements on the databases: translated here, executed in a process with limits (`executing`).

Threads share nothing but remembered translations and idle processes.
"""

from collections.abc import Mapping
from dataclasses import asdict
from queue import Empty, SimpleQueue
from typing import Any

from evaluator.lumos.sql.databases import Databases
from evaluator.lumos.sql.executing import Limits, too_much_memory
from evaluator.lumos.sql.outcome import Failure, Reason, Result, StatementError
from evaluator.lumos.sql.show import show
from evaluator.sandbox.limited_process import LimitExceededError, Server
from evaluator.sandbox.limited_process import Limits as ProcessLimits

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
        from evaluator.lumos.sql.translation.translator import Translator

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
