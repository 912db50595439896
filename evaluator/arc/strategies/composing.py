"""Programs one after the other as one program."""

import ast
from collections.abc import Sequence

from evaluator.arc.strategies.replies import ENTRY
from evaluator.core.process import parse_module

_INDENT = "    "


class ComposeError(ValueError):
    """A program that is no Python. The message is part of a sentence."""


def composed(programs: Sequence[str]) -> str:
    """One program that applies all, the first one first.

    Each keeps its functions and names to itself. The released code forgets all but the last two.

    Raises:
        ComposeError: one of several is no Python.
    """
    if len(programs) == 1:
        return programs[0]
    names = [f"step_{number}" for number in range(1, len(programs) + 1)]
    lines = [line for name, program in zip(names, programs, strict=True) for line in _enclosed(name, program)]
    calls = [f"{_INDENT}grid = {name}(grid)" for name in names]
    return "\n".join([*lines, f"def {ENTRY}(grid):", *calls, f"{_INDENT}return grid"])


def _enclosed(name: str, program: str) -> list[str]:
    try:
        body = ast.unparse(parse_module(program))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ComposeError(f"one of the programs is no Python: {error}") from None
    # Only docstrings have line breaks after that, so that no other text changes.
    return [f"def {name}(grid):", *(_INDENT + line for line in body.split("\n")), f"{_INDENT}return {ENTRY}(grid)"]
