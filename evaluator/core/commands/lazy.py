"""Groups of commands that import a command when it runs."""

import inspect
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.commands.table import Entry, members_of, top_level

_PANELS = {"client": "With a site"}


class Unloaded(TyperCommand):
    """Stands for a command in lists, help texts and completions."""

    def __init__(self, *, name: str, entry: Entry) -> None:
        super().__init__(name=name, rich_help_panel=_PANELS.get(entry.extra))
        self.entry = entry

    def load(self) -> Any:
        """Import the command."""
        return _loaded(name=self.name or "", entry=self.entry)


class LazyGroup(TyperGroup):
    """A group whose unloaded commands are imported when they are resolved."""

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
        return _command_of(target, name=name)
    for command in target.registered_commands:
        command.help = _unwrapped(command.help or command.callback.__doc__ or "") if command.callback else command.help
    group = typer.main.get_group(target)
    # Members of the table may have the name of none of the application's own commands.
    return LazyGroup(
        name=name, help=entry.help, callback=group.callback, params=group.params, no_args_is_help=True,
        commands={**group.commands, **unloaded(members_of(entry.words))},
    )  # fmt: skip


def _command_of(function: Any, *, name: str) -> Any:
    one = typer.Typer(add_completion=False)
    one.command(name, help=_unwrapped(function.__doc__ or ""))(function)
    return typer.main.get_command(one)


def _unwrapped(text: str) -> str:
    """Help text with a line for each paragraph: docstrings are wrapped at 120 columns, terminals are narrower."""
    return "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n"))
