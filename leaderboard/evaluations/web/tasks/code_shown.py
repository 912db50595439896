"""Programs as numbered lines, with the one that failed."""

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from evaluator.core.process import literal

_FAILING_LINE = re.compile(r"(?:^|error\. |: )Line (?P<line>\d{1,4})\b")
_FEWEST = 2
"""Lines that are worth numbers."""


class CodeLine(NamedTuple):
    """A line of a program."""

    number: int
    text: str
    is_failing: bool


def numbered(lines: Sequence[str], *, failing: int | None) -> tuple[CodeLine, ...]:
    """Lines with their numbers from 1."""
    return tuple(CodeLine(number, line, number == failing) for number, line in enumerate(lines, start=1))


def failing_line(message: str) -> int | None:
    """The line that a tool's message names first."""
    found = _FAILING_LINE.search(message)
    return int(found["line"]) if found else None


def code_lines(arguments: str, *, message: str) -> tuple[CodeLine, ...]:
    """The lines of an argument that is a program of several lines, or a list of steps; none of any other argument.

    Args:
        arguments: of an action, as the planner wrote them.
        message: what the tool says of it.
    """
    lines = _steps(arguments) or _program(arguments).splitlines()
    return numbered(lines, failing=failing_line(message)) if len(lines) >= _FEWEST else ()


def _steps(arguments: str) -> list[str]:
    if not arguments.startswith("["):
        return []
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return []
    is_steps = isinstance(value, list) and all(isinstance(line, str) for line in value)
    return value if is_steps else []


def _program(arguments: str) -> str:
    """The text, without quotes around all of it."""
    if not arguments.startswith(("'", '"')):
        return arguments
    try:
        value = literal(arguments)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return arguments
    return value if isinstance(value, str) else arguments
