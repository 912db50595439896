"""What executing a statement gives: a result, or a failure with a reason."""

from dataclasses import dataclass
from enum import StrEnum

Cell = None | int | float | str
"""A value of a result; dates are text."""


class Reason(StrEnum):
    """Why a statement gave no result."""

    TOO_LONG = "too_long"
    """Of the statement's text."""
    TOO_DEEP = "too_deep"
    """Nested too deeply, or too intricate to read."""
    SYNTAX = "syntax"
    NOT_ONE_STATEMENT = "not_one_statement"
    NOT_A_QUERY = "not_a_query"
    """It would change something or do anything else than read."""
    UNSUPPORTED = "unsupported"
    """MySQL may have it, this engine does not."""
    UNKNOWN_NAME = "unknown_name"
    TOO_SLOW = "too_slow"
    TOO_LARGE = "too_large"
    """A value or an intermediate text grew too large."""
    FAILED = "failed"
    """Any other error of the engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A statement that gave no result."""

    reason: Reason
    message: str
    """One sentence for the planner."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The rows of a statement."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    is_cut: bool = False
    """Whether there are more rows than were read."""


class StatementError(Exception):
    """A statement cannot be executed; carries the failure."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.failure = Failure(reason=reason, message=message)
