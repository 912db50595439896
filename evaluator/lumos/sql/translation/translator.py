"""From MySQL to the SQL of SQLite, for statements that only read.

Only what is known to mean the same in SQLite, or is rewritten to, is let through; anything else is refused by name.
"""

from functools import lru_cache

from evaluator.lumos.sql.outcome import Failure, Reason, StatementError
from evaluator.lumos.sql.schema import Schema
from evaluator.lumos.sql.translation.parsing import parse
from evaluator.lumos.sql.translation.statements import StatementWriter

_LONGEST_REMEMBERED = 1_000


class Translator:
    """Translates statements on one database, and remembers the last ones."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._remembered = lru_cache(maxsize=256)(self._translate)

    def translate(self, text: str) -> str:
        """A statement of MySQL in the SQL of SQLite.

        Raises:
            StatementError: it cannot be read, is not supported, or does not only read.
        """
        found = self._remembered(text) if len(text) <= _LONGEST_REMEMBERED else self._translate(text)
        if isinstance(found, Failure):
            raise StatementError(found.reason, found.message)
        return found

    def _translate(self, text: str) -> str | Failure:
        try:
            statement = parse(text)
            return StatementWriter(schema=self._schema, statement=statement).statement(statement)
        except StatementError as error:
            return error.failure
        except RecursionError:
            return Failure(reason=Reason.TOO_DEEP, message="the statement is nested too deeply")
