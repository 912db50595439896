"""The command `planarena completion`."""

import sys
from typing import Annotated

import typer

from evaluator.core.commands.table import COMPLETE

PROGRAM = "planarena"
_SHELLS = ("bash", "zsh", "fish")


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
