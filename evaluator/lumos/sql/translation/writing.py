"""What the writers of statements and expressions share."""

import re
from typing import Protocol

from sqlglot import exp

from evaluator.lumos.sql.outcome import Reason, StatementError
from evaluator.lumos.sql.schema import Kind, Schema


class Writer(Protocol):
    """Writes the parts of a statement."""

    schema: Schema

    def kind_of(self, column: exp.Column) -> Kind | None:
        """The kind of a column, or None if it is not known."""
        ...

    def query(self, node: exp.Expr) -> str:
        """A SELECT or a set operation, without brackets."""
        ...

    def expression(self, node: exp.Expr) -> str:
        """An expression."""
        ...


def refuse(node: exp.Expr, *, what: str = "") -> StatementError:
    """The error that something in a statement is not supported."""
    name = what or re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).upper()
    return StatementError(Reason.UNSUPPORTED, f"{name} is not available here")


def only(node: exp.Expr, *names: str) -> None:
    """Raises if a node has parts besides these, which a writer would lose."""
    for name, value in node.args.items():
        if value and name not in names:
            raise refuse(node, what=f"{name.strip('_').replace('_', ' ').upper()} in {type(node).__name__.upper()}")


def quoted(name: str) -> str:
    """A name of a table or a column, in backticks: SQLite takes an unknown name in double quotes for a text."""
    if "\0" in name:
        raise StatementError(Reason.SYNTAX, "a name has a character with code 0")
    return "`" + name.replace("`", "``") + "`"


def text(value: str) -> str:
    """A text as a literal."""
    if "\0" in value:
        raise StatementError(Reason.UNSUPPORTED, "texts with a character of code 0 are not available here")
    return "'" + value.replace("'", "''") + "'"
