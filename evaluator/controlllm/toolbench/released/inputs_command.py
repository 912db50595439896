"""The command `planarena suites inputs`: which files of a suite's requests an operator's folder has."""

from pathlib import Path
from typing import Annotated

import typer

from evaluator.controlllm.toolbench.released.executed import TOOL2K, TOOL100
from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.commands.options import JsonFlag
from evaluator.core.commands.usage import chosen_suite, out, print_json, usage_error


def inputs(
    suite: Annotated[str, typer.Argument(help=f"{TOOL100} or {TOOL2K}.")],
    folder: Annotated[
        Path | None, typer.Option("--inputs", help="The folder with the files; default: PLANARENA_TOOL_INPUTS.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """List the files of the requests and what is wrong with them. Exit code 1 if some cannot be used."""
    if suite not in {TOOL100, TOOL2K}:
        raise usage_error(f"the requests of {suite} name no files of an operator; {TOOL100} and {TOOL2K} do")
    chosen = chosen_suite(suite)
    # Imported here: it loads numpy.
    from evaluator.controlllm.toolbench.released.inputs import released_inputs

    try:
        source = released_inputs(folder=None if folder is None else str(folder), tasks=chosen.tasks, slug=suite)
    except LookupError as error:
        raise usage_error(error) from None
    if as_json:
        print_json([{"name": name, "type": str(kind), "problem": problem} for name, kind, problem in source.listed()])
    else:
        for name, kind, problem in source.listed():
            out.print(f"{name} ({kind}) {problem or 'can be used'}", markup=False, highlight=False, soft_wrap=True)
        out.print(source.gaps or "All files can be used.", markup=False, highlight=False, soft_wrap=True)
    if source.problems:
        raise typer.Exit(ExitCode.CHECK_FAILED)
