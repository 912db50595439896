"""Python's parser for several threads: up to Python 3.12, parsing in two at once can end in a `SystemError`, since the
depth of the tree is counted for both together."""

import ast
from threading import RLock
from typing import Any

_LOCK = RLock()


def parse_module(source: str) -> ast.Module:
    """The syntax tree of a program.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: as `ast.parse`.
    """
    with _LOCK:
        return ast.parse(source)


def parse_expression(source: str) -> ast.Expression:
    """The syntax tree of an expression.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: as `ast.parse`.
    """
    with _LOCK:
        return ast.parse(source, mode="eval")


def literal(source: str) -> Any:
    """The value of a literal.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: as `ast.literal_eval`.
    """
    with _LOCK:
        return ast.literal_eval(source)
