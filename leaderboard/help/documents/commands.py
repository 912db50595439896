"""The reference of the command line, from the commands themselves."""

from collections.abc import Iterator
from typing import Any

from evaluator.cli.main import program
from evaluator.core.commands.lazy import Unloaded

_EMPTY = (None, False, "", ())
"""Defaults that a table need not tell."""


def command_reference() -> str:
    """Every command as Markdown: a heading, its help, and a table of its arguments and options. Of commands whose
    packages are not installed here, as those of workers on a site, only the summary."""
    return "\n".join(_group(program(), prefix="planarena"))


def _group(group: Any, *, prefix: str) -> Iterator[str]:
    for name, found in group.commands.items():
        words = f"{prefix} {name}"
        try:
            command = found.load() if isinstance(found, Unloaded) else found
        except ModuleNotFoundError:
            yield f"## {words}\n\n{found.entry.summary}\n"
            continue
        if hasattr(command, "commands"):
            yield from _group(command, prefix=words)
        elif not command.hidden:
            yield f"## {words}\n\n{command.help or ''}\n\n{_table(command)}"


def _table(command: Any) -> str:
    rows = [_row(parameter) for parameter in command.params if not getattr(parameter, "hidden", False)]
    return "\n".join(["| option | meaning | default |", "|---|---|---|", *rows, ""]) if rows else ""


def _row(parameter: Any) -> str:
    is_option = parameter.opts[0].startswith("-")
    name = (
        ", ".join([*parameter.opts, *parameter.secondary_opts])
        if is_option
        else (parameter.metavar or parameter.name).upper()
    )
    default = "" if callable(parameter.default) or parameter.default in _EMPTY else f"`{parameter.default}`"
    needed = "required" if parameter.required else default
    return f"| `{_cell(name)}` | {_cell(getattr(parameter, 'help', None) or '')} | {needed} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")
