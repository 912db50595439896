"""The program `planarena` without a site: all groups of commands, `--version` and `--verbose`."""

import os
import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

from evaluator import __version__
from evaluator.cli.program.completion import complete
from evaluator.cli.program.lazy import AllCommands
from evaluator.cli.program.options import VerboseOption
from evaluator.cli.program.table import COMPLETE
from evaluator.cli.quiet import VERBOSE, only_downloads, quieten
from evaluator.process_settings import settle_process
from evaluator.provenance import version_line

app = typer.Typer(cls=AllCommands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


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


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Entry point of `python -m evaluator`: runs a command, by default the one of the process, and exits."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if "--verbose" in words:
        os.environ[VERBOSE] = "1"
    if COMPLETE in os.environ:
        complete()
    quieten(bars=only_downloads(words))
    settle_process(os.environ)
    app(args=words, prog_name="planarena")
    raise AssertionError("the program exits")
