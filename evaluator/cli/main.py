"""The program `planarena`: all groups of commands, `--version` and `--verbose`, and completion by shells.

Logs, warnings and progress bars of libraries are silenced on the terminal. Their errors stay, as do all logs of this
package. `--verbose` or PLANARENA_VERBOSE=1 shows everything.
"""

import logging
import os
import sys
import time
import warnings
from collections.abc import Iterator, MutableMapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Annotated, Any, NoReturn

import typer

from evaluator import __version__
from evaluator.cli.progress_lines import ProgressLines
from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.commands.lazy import AllCommands, Unloaded
from evaluator.core.commands.options import VerboseOption
from evaluator.core.commands.table import COMPLETE, top_level
from evaluator.core.process import settle_process, settle_streams
from evaluator.core.provenance import version_line

VERBOSE = "PLANARENA_VERBOSE"
LIBRARIES = (
    "accelerate",
    "bert_score",
    "datasets",
    "diffusers",
    "huggingface_hub",
    "tokenizers",
    "torch",
    "transformers",
)
_SETTINGS = {
    "DATASETS_VERBOSITY": "error",
    "DIFFUSERS_VERBOSITY": "error",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_VERBOSITY": "error",
    "TORCH_CPP_LOG_LEVEL": "ERROR",
    "TQDM_DISABLE": "1",
    "TRANSFORMERS_NO_ADVISORY_WARNINGS": "1",
    "TRANSFORMERS_VERBOSITY": "error",
}
"""Read by the libraries on import. Values that the user has set stay."""
_BARS = frozenset({"HF_HUB_DISABLE_PROGRESS_BARS", "TQDM_DISABLE"})
_DOWNLOADS = ("profiles", "fetch")


def is_verbose(environment: MutableMapping[str, str] = os.environ) -> bool:
    """Whether the environment asks for the logs of libraries."""
    return environment.get(VERBOSE, "").strip().lower() not in {"", "0", "false", "no", "off"}


def only_downloads(arguments: Sequence[str]) -> bool:
    """Whether the command only downloads large files, for which the libraries' progress bars are useful.

    Args:
        arguments: of the command line, without the program's name.
    """
    return tuple(arguments[: len(_DOWNLOADS)]) == _DOWNLOADS


def quieten(environment: MutableMapping[str, str] = os.environ, *, bars: bool = False) -> None:
    """Limit libraries to errors unless `is_verbose`; with `bars` their progress bars stay.

    Must be called before the libraries are imported. Child processes inherit the settings.
    `python -W` and PYTHONWARNINGS still enable warnings of Python.
    """
    if is_verbose(environment):
        return
    for name, value in _SETTINGS.items():
        if not (bars and name in _BARS):
            environment.setdefault(name, value)
    if not sys.warnoptions:
        # All warnings, since libraries attribute theirs to the calling module, which may be ours.
        warnings.simplefilter("ignore")
    for library in LIBRARIES:
        logging.getLogger(library).setLevel(logging.ERROR)


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
    # Imported when needed: no other command uses it.
    from typer._completion_shared import get_completion_script

    sys.stdout.write(get_completion_script(prog_name=PROGRAM, complete_var=COMPLETE, shell=shell) + "\n")


def complete() -> None:
    """Enable the answers to the completion script."""
    # Typer does this only with the options --install-completion and --show-completion, which this command replaces.
    from typer._completion_classes import completion_init

    completion_init()


_WITH_OWN_LINES = frozenset({"ask", "evaluate", "mcp"})
_CLIENT = "client"
"""Extra of the commands of a site, which print the progress of their evaluations."""


def _lines(words: Sequence[str]) -> AbstractContextManager[object]:
    """Progress lines for a command without a terminal, unless the command prints its own."""
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
                sys.stdout.flush()
                sys.stderr.flush()
                # Without joining threads, which may wait for a planner that never answers.
                os._exit(ExitCode.INTERRUPTED)
            raise
    raise AssertionError("the program exits")


@cache
def program() -> Any:
    """The group of all commands."""
    return typer.main.get_command(app)


def member(group: Any, name: str) -> Any:
    """A command of a group, imported; None if there is none."""
    command = group.commands.get(name)
    return command.load() if isinstance(command, Unloaded) else command


def leaves(group: Any = None, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """All commands except groups, with the words that call them."""
    group = group or program()
    for name in group.commands:
        command = member(group, name)
        if hasattr(command, "commands"):
            yield from leaves(command, prefix=f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", command


def commands() -> Iterator[tuple[str, Any]]:
    """The functions of all commands, with the words that call them."""
    for words, command in leaves():
        yield words, command.callback
