"""Commands and groups of commands: a group imports a command when it runs, and helps are plain text of 80 columns."""

import inspect
import re
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.commands.table import Entry, members_of, top_level

_PANELS = {"client": "With a site"}
_TYPE = re.compile(r"<(?:list\[)?(\w+)(?: range)?\]?>")
"""A type as Typer shows it, such as `<int range>` and `<list[str]>`."""


class PlainCommand(TyperCommand):
    """A command whose help is plain text of at most 80 columns, with its options in groups."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help without Rich, whose table leaves the sentences a fifth of a terminal's width."""
        super(TyperCommand, self).format_help(ctx, formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write a section of the arguments, one of each help panel in the order of the options, and one of the rest."""
        _write_parameters(self.get_params(ctx), ctx=ctx, formatter=formatter)


class Unloaded(PlainCommand):
    """Stands for a command in lists, help texts and completions."""

    def __init__(self, *, name: str, entry: Entry) -> None:
        super().__init__(name=name, rich_help_panel=_PANELS.get(entry.extra))
        self.entry = entry

    def load(self) -> Any:
        """Import the command."""
        return _loaded(name=self.name or "", entry=self.entry)


class LazyGroup(TyperGroup):
    """A group whose unloaded commands are imported when they are resolved."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help as commands do."""
        super(TyperGroup, self).format_help(ctx, formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options, and a section of the commands of each help panel."""
        _write_parameters(self.get_params(ctx), ctx=ctx, formatter=formatter)
        sections: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command: Any = self.commands[name]
            summary = " ".join((command.help or "").partition("\n\n")[0].split())
            sections.setdefault(command.rich_help_panel or "Commands", []).append((name, summary))
        for heading, rows in sections.items():
            with formatter.section(heading):
                formatter.write_dl(rows)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - Typer's signature
        """The names, in the order of the table. Asked for by helps and completions, which need the summaries."""
        for command in self.commands.values():
            if isinstance(command, Unloaded) and command.help is None:
                command.help = command.entry.summary
        return list(self.commands)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called, imported."""
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None and isinstance(command, Unloaded):
            command = self.commands[name] = command.load()
        return name, command, rest


def unloaded(entries: Mapping[str, Entry]) -> dict[str, Any]:
    """Commands of a group, by name."""
    return {name: Unloaded(name=name, entry=entry) for name, entry in entries.items()}


class AllCommands(LazyGroup):
    """All commands of the library, and those of a site."""

    def invoke(self, ctx: Any) -> Any:
        """Run one. Ctrl-C is a sentence and an exit code of its own; commands that keep something say it themselves."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            sys.stderr.write("planarena: interrupted; no result was written.\n")
            raise typer.Exit(ExitCode.INTERRUPTED) from None

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**{**attributes, "commands": unloaded(top_level())})


class SiteCommands(LazyGroup):
    """The commands of a site."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**{**attributes, "commands": unloaded(top_level(extra="client"))})


def _loaded(*, name: str, entry: Entry) -> Any:
    module, _, attribute = entry.run.partition(":")
    target = getattr(import_module(module), attribute) if module else typer.Typer()
    if not isinstance(target, typer.Typer):
        alone = typer.Typer(add_completion=False)
        alone.command(name, cls=PlainCommand, help=_unwrapped(target.__doc__ or ""))(target)
        return typer.main.get_command(alone)
    for command in target.registered_commands:
        command.cls = PlainCommand
        command.help = _unwrapped(command.help or command.callback.__doc__ or "") if command.callback else command.help
    group = typer.main.get_group(target)
    # Members of the table may have the name of none of the application's own commands.
    return LazyGroup(
        name=name, help=entry.help, callback=group.callback, params=group.params, no_args_is_help=True,
        commands={**group.commands, **unloaded(members_of(entry.words))},
    )  # fmt: skip


def _write_parameters(parameters: Iterable[Any], *, ctx: Any, formatter: Any) -> None:
    sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    for parameter in parameters:
        if (record := parameter.get_help_record(ctx)) is None:
            continue
        is_argument = parameter.param_type_name == "argument"
        heading = getattr(parameter, "rich_help_panel", None) or ("Arguments" if is_argument else "Options")
        label, text = record
        sections.setdefault(heading, []).append((_TYPE.sub(r"<\1>", label), text))
    # Last: the options that many commands share.
    sections["Options"] = sections.pop("Options")
    for heading, rows in sections.items():
        if rows:
            with formatter.section(heading):
                formatter.write_dl(rows)


def _unwrapped(text: str) -> str:
    """Help text with a line for each paragraph: docstrings are wrapped at 120 columns, terminals are narrower."""
    return "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n"))
