"""Outcome of a statement: a result, or a failure with a reason."""

from dataclasses import dataclass
from enum import StrEnum

Cell = None | int | float | str
"""A value of a result; dates are text."""


class Reason(StrEnum):
    """Why a statement has no result."""

    TOO_LONG = "too_long"
    """The statement's text is too long."""
    TOO_DEEP = "too_deep"
    """Nested too deeply, or too complex to parse."""
    SYNTAX = "syntax"
    NOT_ONE_STATEMENT = "not_one_statement"
    NOT_A_QUERY = "not_a_query"
    """The statement does not only read."""
    UNSUPPORTED = "unsupported"
    """Not supported by this engine."""
    UNKNOWN_NAME = "unknown_name"
    TOO_SLOW = "too_slow"
    TOO_LARGE = "too_large"
    """A value or intermediate result is too large."""
    FAILED = "failed"
    """Any other error of the engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A statement without a result."""

    reason: Reason
    message: str
    """For the planner, one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The rows of a statement."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    is_cut: bool = False
    """Whether rows were truncated."""


class StatementError(Exception):
    """A statement cannot be executed; carries the failure."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.failure = Failure(reason=reason, message=message)
