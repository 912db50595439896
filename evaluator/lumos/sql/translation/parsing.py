"""Parses a planner's statement as MySQL, within limits, because the text is untrusted.

The parser of sqlglot is recursive and backtracks, so both the depth of brackets and the number of its steps are
limited. Calls of functions stay anonymous: `functions` implements their MySQL meaning, rather than sqlglot.
"""

import logging
import re
from collections.abc import Callable
from typing import ClassVar, Protocol

from sqlglot import exp
from sqlglot.dialects.mysql import MySQL
from sqlglot.errors import ErrorLevel, ParseError, SqlglotError, TokenError
from sqlglot.parsers.mysql import MySQLParser
from sqlglot.tokenizer_core import Token, TokenType

from evaluator.lumos.sql.outcome import Reason, StatementError
from evaluator.lumos.sql.schema import Kind, Schema

# Its warnings quote untrusted texts; the planner receives a failure instead.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)

MOST_CHARACTERS = 4_000
MOST_DEPTH = 12
MOST_OPERATORS = 200
"""A chain of operators is a tree of the same depth. AND and OR are not counted."""
_MOST_STEPS = 60_000
_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END})
_PREFIXES = frozenset({TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE})
_OPERATORS = frozenset(
    {
        TokenType.PLUS, TokenType.DASH, TokenType.STAR, TokenType.SLASH, TokenType.MOD, TokenType.DIV, TokenType.EQ,
        TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE, TokenType.NULLSAFE_EQ, TokenType.PIPE,
        TokenType.AMP, TokenType.CARET, TokenType.XOR, TokenType.LIKE, TokenType.IS, TokenType.COLLATE,
    }
)  # fmt: skip
_COMMENTS = re.compile(r"\A(?:\s|/\*(?!!).*?\*/|(?:--\s|#)[^\n]*(?:\n|\Z))*", re.DOTALL)


class _TooIntricateError(Exception):
    """The parser took too many steps."""


class _Parser(MySQLParser):
    FUNCTIONS: ClassVar[dict[str, Callable[..., exp.Expr]]] = {}
    steps = 0

    def _advance(self, times: int = 1) -> None:
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise _TooIntricateError
        super()._advance(times)


class _Dialect(MySQL):
    Parser = _Parser


def parse(text: str) -> exp.Expr:
    """The one statement of a text.

    Raises:
        StatementError: it is too long, too deep, not MySQL, or not one statement.
    """
    if len(text) > MOST_CHARACTERS:
        raise StatementError(
            Reason.TOO_LONG, f"the statement has {len(text)} characters; at most {MOST_CHARACTERS} are read"
        )
    if "\0" in text or not _is_unicode(text):
        raise StatementError(Reason.SYNTAX, "the statement has a character that MySQL does not read")
    dialect = _Dialect()
    try:
        tokens = dialect.tokenize(text)
        _check_depth(tokens)
        nodes = dialect.parser(error_level=ErrorLevel.IMMEDIATE).parse(tokens, text)
    except ParseError as error:
        raise StatementError(Reason.SYNTAX, _syntax_message(error=error, text=text)) from None
    except TokenError:
        raise StatementError(Reason.SYNTAX, "a text, a name or a comment in the statement has no end") from None
    except (_TooIntricateError, RecursionError):
        raise StatementError(Reason.TOO_DEEP, "the statement is too intricate to read; write it more simply") from None
    except (SqlglotError, ValueError, TypeError, AttributeError, LookupError, AssertionError):
        # sqlglot does not document the exceptions that it raises on unexpected text.
        raise StatementError(Reason.SYNTAX, "the statement is no MySQL that can be read here") from None
    statements = [node for node in nodes if node is not None and not isinstance(node, exp.Semicolon)]
    if len(statements) != 1:
        count = "no statement" if not statements else f"{len(statements)} statements"
        raise StatementError(Reason.NOT_ONE_STATEMENT, f"the text has {count}; it must be one")
    return statements[0]


def without_comments(text: str) -> str:
    """A text without leading comments and trailing semicolon."""
    return _COMMENTS.sub("", text).strip().rstrip(";").rstrip()


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_depth(tokens: list[Token]) -> None:
    if sum(token.token_type in _OPERATORS for token in tokens) > MOST_OPERATORS:
        raise StatementError(Reason.TOO_DEEP, f"the statement has more than {MOST_OPERATORS} operators")
    depth = prefixes = 0
    for token in tokens:
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        prefixes = prefixes + 1 if token.token_type in _PREFIXES else 0
        if depth > MOST_DEPTH or prefixes > MOST_DEPTH:
            raise StatementError(Reason.TOO_DEEP, f"the statement is nested more than {MOST_DEPTH} deep")


def _syntax_message(*, error: ParseError, text: str) -> str:
    first = error.errors[0] if error.errors else {}
    line, column, near = first.get("line"), first.get("col"), str(first.get("highlight") or "")
    what = str(first.get("description") or "").rstrip(".")
    if what.startswith("Required keyword"):
        what = "something is missing"
    elif not what or what == "Invalid expression / Unexpected token":
        what = "it is not expected here"
    if line is None or column is None:
        return f"syntax error in {text[:60]!r}: {what}"
    return f"syntax error in line {line}, column {column}, at {near[:60]!r}: {what}"


class Writer(Protocol):
    """Translates the parts of a statement."""

    schema: Schema

    def kind_of(self, column: exp.Column) -> Kind | None:
        """The kind of a column; None if it is unknown."""
        ...

    def query(self, node: exp.Expr) -> str:
        """A SELECT or a set operation, without brackets."""
        ...

    def expression(self, node: exp.Expr) -> str:
        """An expression."""
        ...


def refuse(node: exp.Expr, *, what: str = "") -> StatementError:
    """The error for an unsupported part of a statement."""
    name = what or re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).upper()
    return StatementError(Reason.UNSUPPORTED, f"{name} is not available here")


def only(node: exp.Expr, *names: str) -> None:
    """Raises if a node has other parts, which a writer would drop."""
    for name, value in node.args.items():
        if value and name not in names:
            raise refuse(node, what=f"{name.strip('_').replace('_', ' ').upper()} in {type(node).__name__.upper()}")


def quoted(name: str) -> str:
    """A name of a table or column in backticks. In double quotes SQLite would treat an unknown name as a string."""
    if "\0" in name:
        raise StatementError(Reason.SYNTAX, "a name has a character with code 0")
    return "`" + name.replace("`", "``") + "`"


def text(value: str) -> str:
    """A string literal."""
    if "\0" in value:
        raise StatementError(Reason.UNSUPPORTED, "texts with a character of code 0 are not available here")
    return "'" + value.replace("'", "''") + "'"
