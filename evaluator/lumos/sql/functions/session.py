"""The functions of one connection to SQLite."""

import random
import sqlite3
from collections.abc import Callable
from typing import Any

from evaluator.lumos.sql import collation
from evaluator.lumos.sql.functions.aggregates import AGGREGATES, Aggregate
from evaluator.lumos.sql.functions.scalars import BUILT_IN, LENIENT, STRICT, text_of
from evaluator.lumos.sql.outcome import Cell, Failure, Reason, StatementError

_OF_SESSION = frozenset({"RAND", "DATABASE", "SCHEMA", "VERSION"})
AUTHORISED = BUILT_IN | set(STRICT) | set(LENIENT) | set(AGGREGATES) | _OF_SESSION | {"LIKE"}
"""Functions that SQLite may call, in upper case."""
CALLABLE = frozenset(name for name in AUTHORISED if not name.startswith("MY_")) - {"LIKE"} | {
    "MY_NOW", "MY_TODAY", "MY_TIME",
}  # fmt: skip
"""Functions that a statement may name, or that a name in it stands for."""
_CHARACTERS_OF_A_CALL = 1_000
"""Characters that take as long as a call without any."""


def _strict(function: Callable[..., Cell]) -> Callable[..., Cell]:
    """NULL if any argument is NULL."""

    def of(*values: Cell) -> Cell:
        return None if any(value is None for value in values) else function(*values)

    return of


class Session:
    """What functions of one connection remember: why one of them failed, and the state of RAND."""

    def __init__(self, *, database: str, most_calls: int, most_kept: int) -> None:
        """Args:
        database: its name.
        most_calls: of functions in Python.
        most_kept: bytes of the values that aggregate functions were given, as far as they may keep them.
        """
        self.database = database
        self._most_calls, self._most_kept = most_calls, most_kept
        self._kept = 0
        self.failure: Failure | None = None
        self.calls = 0
        """Of functions in Python: they take far longer than a step of SQLite's machine."""
        self._random = random.Random(0)  # noqa: S311

    @property
    def is_exhausted(self) -> bool:
        """Whether more functions were called than the statement may. What it returns from then on is not its result."""
        return self.calls > self._most_calls

    def install(self, connection: sqlite3.Connection) -> None:
        """Define all functions on a connection."""
        connection.create_collation(collation.NAME, self._compare)
        for name, (count, function) in STRICT.items():
            connection.create_function(name, count, self._guarded(name, _strict(function)), deterministic=True)
        for name, (count, function) in LENIENT.items():
            connection.create_function(name, count, self._guarded(name, function), deterministic=True)
        for name, (count, aggregate) in AGGREGATES.items():
            connection.create_aggregate(name, count, self._counted(aggregate))
        for name in ("DATABASE", "SCHEMA"):
            connection.create_function(name, 0, lambda: self.database.lower(), deterministic=True)
        connection.create_function("VERSION", 0, lambda: "8.0.32", deterministic=True)
        connection.create_function("RAND", -1, self._rand)

    def _compare(self, left: str, right: str) -> int:
        self.calls += 1
        # SQLite sorts within one step, so nothing can stop it there; comparing nothing ends the sort soon.
        return 0 if self.is_exhausted else collation.compare(left, right)

    def _counted(self, aggregate: type[Aggregate]) -> Callable[[], Any]:
        """An aggregate function whose steps are counted."""
        session = self

        class Counted(aggregate):  # type: ignore[valid-type, misc]
            def step(self, *values: Cell) -> None:
                session.calls += 1
                before = self.kept
                super().step(*values)
                session.keep(self.kept - before)

            def finalize(self) -> Cell:
                found: Cell = super().finalize()
                session.keep(-self.kept)
                return found

        return Counted

    def keep(self, count: int) -> None:
        """Count bytes that an aggregate function keeps.

        Raises:
            StatementError: too many.
        """
        self._kept += count
        if self._kept > self._most_kept:
            most = f"{self._most_kept // 1024**2} MiB of memory"
            error = StatementError(Reason.TOO_LARGE, f"the values of a group take more than {most}; group less")
            self.failure = error.failure
            raise error

    def _guarded(self, name: str, function: Callable[..., Cell]) -> Callable[..., Cell]:
        """SQLite says only that a function failed, so the reason is kept here."""

        def call(*values: Cell) -> Cell:
            self.calls += 1 + sum(len(value) for value in values if isinstance(value, str)) // _CHARACTERS_OF_A_CALL
            try:
                found = function(*values)
            except StatementError as error:
                self.failure = error.failure
                raise
            except (TypeError, ValueError, ArithmeticError) as error:
                self.failure = Failure(reason=Reason.FAILED, message=f"{name} cannot take these arguments: {error}")
                raise
            self.calls += len(found) // _CHARACTERS_OF_A_CALL if isinstance(found, str) else 0
            return found

        return call

    def _rand(self, *seed: Cell) -> float:
        """The same numbers in every session, so that a statement always gives the same result."""
        return self._random.random() if not seed else random.Random(text_of(seed[0])).random()  # noqa: S311
