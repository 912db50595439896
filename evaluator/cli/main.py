"""The program `planarena` without a site: all groups of commands, `--version` and `--verbose`."""

import inspect
import os
import sys
from importlib import import_module
from typing import Annotated

import typer

from evaluator import __version__
from evaluator.agents.commands import mcp
from evaluator.chain.command import chain
from evaluator.cli import bench, lilliput, planners, profiles, suites, tools, train
from evaluator.cli.evaluate import evaluate
from evaluator.cli.judging import judge_plans
from evaluator.cli.quiet import VERBOSE, only_downloads, quieten
from evaluator.cli.sbom import print_sbom
from evaluator.cli.usage import VerboseOption
from evaluator.cli.validity import validity
from evaluator.client.cli import COMMANDS as SITE_COMMANDS
from evaluator.provenance import version_line
from evaluator.suites.registry import command_modules

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)
_GROUPS = {
    "suites": suites.app,
    "planners": planners.app,
    "profiles": profiles.app,
    "tools": tools.app,
    "lilliput": lilliput.app,
    "train": train.app,
    "bench": bench.app,
}
for name, group in _GROUPS.items():
    app.add_typer(group, name=name)
app.command()(evaluate)
app.command()(chain)
app.command()(mcp)
for suite_commands in map(import_module, command_modules()):
    for place, about in getattr(suite_commands, "GROUPS", {}).items():
        _GROUPS[place] = typer.Typer(help=about, no_args_is_help=True)
        app.add_typer(_GROUPS[place], name=place)
    for words, command in suite_commands.COMMANDS.items():
        place, _, name = words.rpartition(" ")
        (_GROUPS[place] if place else app).command(name)(command)
app.command("judge-plans")(judge_plans)
app.command()(validity)
app.command("sbom")(print_sbom)
for site_command in SITE_COMMANDS:
    app.command(rich_help_panel="With a site")(site_command)


def _unwrap_help(group: typer.Typer) -> None:
    """Join the lines of each paragraph of help text: docstrings are wrapped at 120 columns, terminals are narrower."""
    for command in group.registered_commands:
        text = inspect.cleandoc(command.help or getattr(command.callback, "__doc__", None) or "")
        command.help = "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))
    for member in group.registered_groups:
        if member.typer_instance is not None:
            _unwrap_help(member.typer_instance)


_unwrap_help(app)


def _print_version(requested: bool) -> None:
    if requested:
        sys.stdout.write(version_line(__version__) + "\n")
        raise typer.Exit


@app.callback()
def planarena(
    version: Annotated[
        bool, typer.Option("--version", help="Print version and commit.", callback=_print_version, is_eager=True)
    ] = False,
    verbose: VerboseOption = False,
) -> None:
    """PlanArena: evaluate planners."""


def main() -> None:
    """Entry point of `python -m evaluator`."""
    if "--verbose" in sys.argv[1:]:
        os.environ[VERBOSE] = "1"
    quieten(bars=only_downloads(sys.argv[1:]))
    app(prog_name="planarena")
