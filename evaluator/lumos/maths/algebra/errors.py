"""Errors of calculations, and limits of their size, which are checked before the work is done."""

from enum import StrEnum

MAX_TEXT = 10_000
"""Characters of arguments, and of a value's text."""
MAX_DIGITS = 1_000
"""Decimal digits of a numerator or denominator."""
MAX_BITS = int(MAX_DIGITS * 3.3219) + 1
MAX_DEPTH = 50
"""Nested brackets, powers and functions."""
MAX_TERMS = 200
"""Terms of a polynomial."""
MAX_POWER = 24
"""Total degree of a polynomial."""
MAX_SOLVED_DEGREE = 12
"""Degree of a polynomial whose roots are computed."""
MAX_SOLVED_DIGITS = 60
"""Digits of its coefficients, as integers."""
MAX_UNKNOWNS = 8


class Failure(StrEnum):
    """Why an action has no result."""

    SYNTAX = "syntax"
    LIMIT = "limit"
    """Too long, too large or too much work."""
    KIND = "kind"
    """A value of the wrong kind."""
    DOMAIN = "domain"
    """Undefined for these numbers, such as a division by zero."""
    UNSOLVED = "unsolved"
    """No solution, infinitely many, or not supported."""
    REFERENCE = "reference"
    """No earlier action has this result."""
    OUTPUTS = "outputs"
    """Wrong number of outputs."""
    UNKNOWN_TOOL = "unknown_tool"


class MathsError(Exception):
    """A calculation without a result; the message is a clause."""

    def __init__(self, kind: Failure, message: str, *, offset: int | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.offset = offset
        """Position of the error in the arguments, from 0; None for the arguments as a whole."""

    def __str__(self) -> str:
        return self.message if self.offset is None else f"character {self.offset + 1}: {self.message}"
