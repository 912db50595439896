"""Commands, and groups that import a command when it runs; help texts are plain text of 80 columns."""

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
from evaluator.core.commands.groups import MOST_UNGROUPED, ORDER, heading_of
from evaluator.core.commands.table import Entry, members_of, top_level

_PANELS = {"client": "With a site"}
_TYPE = re.compile(r"<(?:list\[)?(\w+)(?: range)?\]?>")
"""A type as Typer shows it, such as `<int range>` and `<list[str]>`."""


class PlainCommand(TyperCommand):
    """A command whose help is plain text of at most 80 columns, with grouped options."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help without Rich, whose tables leave a fifth of the width to the sentences."""
        super(TyperCommand, self).format_help(ctx, formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write sections for the arguments, each help panel in the order of the options, and the rest."""
        _write_parameters(self.get_params(ctx), ctx=ctx, formatter=formatter)


class Unloaded(PlainCommand):
    """A placeholder for a command in lists, help texts and completions."""

    def __init__(self, *, name: str, entry: Entry) -> None:
        super().__init__(name=name, rich_help_panel=_PANELS.get(entry.extra))
        self.entry = entry

    def load(self) -> Any:
        """Import the command."""
        module, _, attribute = self.entry.run.partition(":")
        target = getattr(import_module(module), attribute) if module else typer.Typer()
        if not isinstance(target, typer.Typer):
            application = typer.Typer(add_completion=False)
            application.command(self.name, cls=PlainCommand, help=unwrapped(target.__doc__ or ""))(target)
            return typer.main.get_command(application)
        for command in target.registered_commands:
            command.cls = PlainCommand
            if command.callback:
                command.help = unwrapped(command.help or command.callback.__doc__ or "")
        group = typer.main.get_group(target)
        # No member of the table has the name of one of the application's own commands.
        return LazyGroup(
            name=self.name or "", help=self.entry.help, callback=group.callback, params=group.params,
            no_args_is_help=True, commands={**group.commands, **unloaded(members_of(self.entry.words))},
        )  # fmt: skip


class LazyGroup(TyperGroup):
    """A group whose unloaded commands are imported when they are resolved."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help as for commands."""
        super(TyperGroup, self).format_help(ctx, formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options, and a section with the commands of each help panel."""
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
        """The names, in the order of the table. Help and completions call it, and need the summaries."""
        for command in self.commands.values():
            if isinstance(command, Unloaded) and command.help is None:
                command.help = command.entry.summary
        return list(self.commands)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the command that is called."""
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
        """Run a command. Ctrl-C gives a message and an exit code; commands that keep results handle it themselves."""
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


def _write_parameters(parameters: Iterable[Any], *, ctx: Any, formatter: Any) -> None:
    sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    parameters = list(parameters)
    options = [parameter for parameter in parameters if parameter.param_type_name == "option"]
    has_groups = len(options) > MOST_UNGROUPED
    # In one order in all commands, whatever that of the options is; panels of a command's own come after.
    sections |= {heading: [] for heading in ORDER if has_groups}
    for parameter in parameters:
        if (record := parameter.get_help_record(ctx)) is None:
            continue
        is_argument = parameter.param_type_name == "argument"
        shared = heading_of(parameter.opts[-1]) if has_groups and not is_argument else "Options"
        heading = getattr(parameter, "rich_help_panel", None) or ("Arguments" if is_argument else shared)
        label, text = record
        sections.setdefault(heading, []).append((_TYPE.sub(r"<\1>", label), text))
    # Last: the options that many commands share.
    sections["Options"] = sections.pop("Options")
    for heading, rows in sections.items():
        if rows:
            with formatter.section(heading):
                formatter.write_dl(rows)


def unwrapped(text: str) -> str:
    """Help text with a line for each paragraph: docstrings are wrapped at 120 columns, terminals are narrower."""
    return "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n"))
