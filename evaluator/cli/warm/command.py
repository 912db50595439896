"""The commands `planarena daemon ...`."""

import os

import psutil
import typer

from evaluator.cli.warm.channel import ChannelError, check_peer, connect, stop
from evaluator.core.commands.exit_codes import ExitCode
from evaluator.core.commands.options import JsonFlag
from evaluator.core.commands.usage import out, print_json

app = typer.Typer(no_args_is_help=True)
_SECONDS = 1.0


def _running() -> int | None:
    """The process of the user's daemon."""
    try:
        with connect(os.environ, seconds=_SECONDS) as connection:
            return check_peer(connection)
    except ChannelError:
        return None


@app.command()
def status(as_json: JsonFlag = False) -> None:
    """Say whether the daemon runs, and how much memory it takes.

    Exit code 0 if it runs, 1 if not.
    """
    process = _running()
    megabytes = None if process is None else round(psutil.Process(process).memory_info().rss / 1e6)
    if as_json:
        print_json({"process": process, "megabytes": megabytes})
    else:
        runs = f"The daemon runs as process {process} and takes {megabytes} MB."
        out.print("No daemon runs." if process is None else runs, highlight=False)
    if process is None:
        raise typer.Exit(ExitCode.CHECK_FAILED)


@app.command("stop")
def end() -> None:
    """End the daemon, after the commands that run in it.

    Exit code 0, also if none runs.
    """
    process = stop(os.environ)
    out.print("No daemon runs." if process is None else f"The daemon, process {process}, ends.", highlight=False)
