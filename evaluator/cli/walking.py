"""All commands of the program, imported."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import typer

from evaluator.core.commands.lazy import Unloaded


@cache
def program() -> Any:
    """The group of all commands."""
    from evaluator.cli.main import app

    return typer.main.get_command(app)


def member(group: Any, name: str) -> Any:
    """A command of a group, imported; None if there is none."""
    found = group.commands.get(name)
    return found.load() if isinstance(found, Unloaded) else found


def leaves(group: Any = None, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """All commands that are no groups, by the words that call them."""
    group = group or program()
    for name in group.commands:
        command = member(group, name)
        if hasattr(command, "commands"):
            yield from leaves(command, prefix=f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", command


def commands() -> Iterator[tuple[str, Any]]:
    """All commands with their functions, by the words that call them."""
    for words, command in leaves():
        yield words, command.callback
