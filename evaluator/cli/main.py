"""The program `planarena`: all groups of commands, `--version` and `--verbose`, and completion by shells."""

import os
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Annotated, NoReturn

import typer

from evaluator import __version__
from evaluator.cli.progress_lines import ProgressLines
from evaluator.cli.quiet import VERBOSE, only_downloads, quieten
from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.commands.lazy import AllCommands
from evaluator.core.commands.options import VerboseOption
from evaluator.core.commands.table import COMPLETE, top_level
from evaluator.core.process import settle_process, settle_streams
from evaluator.core.provenance import version_line

PROGRAM = "planarena"
_SHELLS = ("bash", "zsh", "fish")


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


def completion(
    shell: Annotated[str, typer.Argument(metavar="|".join(_SHELLS), help="The shell that reads the script.")],
) -> None:
    """Print a script that completes commands and options.

    In bash: `source <(planarena completion bash)`, also in ~/.bashrc. In zsh the same, after compinit. In fish:
    `planarena completion fish | source`.
    """
    if shell not in _SHELLS:
        raise typer.BadParameter(f"the shells are {', '.join(_SHELLS)}, not {shell!r}", param_hint="SHELL")
    # Imported here: no other command needs it.
    from typer._completion_shared import get_completion_script

    sys.stdout.write(get_completion_script(prog_name=PROGRAM, complete_var=COMPLETE, shell=shell) + "\n")


def complete() -> None:
    """Let the program answer the script's questions."""
    # The options --install-completion and --show-completion, which this command replaces, would do it for Typer.
    from typer._completion_classes import completion_init

    completion_init()


_WITH_OWN_LINES = frozenset({"evaluate", "mcp"})
_CLIENT = "client"
"""Extra of the commands of a site: those that wait print where their evaluations are."""


def _lines(words: Sequence[str]) -> AbstractContextManager[object]:
    """Says without a terminal that a command is still running, unless it says more itself."""
    names = [word for word in words if not word.startswith("-")][:2]
    if (
        not names
        or names[0] in _WITH_OWN_LINES
        or (entry := top_level().get(names[0])) is None
        or entry.extra == _CLIENT
    ):
        return nullcontext()
    # Groups have a help of their own.
    command = " ".join(names if entry.help else names[:1])
    began = time.monotonic()
    return ProgressLines(lambda: f"planarena {command}: {time.monotonic() - began:.0f} s", stream=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Entry point of `python -m evaluator`: runs a command, by default the one of the process, and exits."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if "--verbose" in words:
        os.environ[VERBOSE] = "1"
    if COMPLETE in os.environ:
        complete()
    settle_streams()
    quieten(bars=only_downloads(words))
    settle_process(os.environ)
    with _lines(words):
        try:
            app(args=words, prog_name="planarena")
        except SystemExit as end:
            if end.code == ExitCode.INTERRUPTED:
                _exit_at_once(ExitCode.INTERRUPTED)
            raise
    raise AssertionError("the program exits")


def _exit_at_once(code: ExitCode) -> NoReturn:
    """Exit without joining threads: Python would wait for each request to a planner that never answers."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
