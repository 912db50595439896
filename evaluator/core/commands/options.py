"""Options that many commands share, those of sites included. Imports nothing slow."""

import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from evaluator.core.commands.exit_codes import ExitCode


def writable(file: Path | None) -> Path | None:
    """Callback of options that name an output file: refuses one that cannot be written before the work begins.

    Changes nothing: missing folders are created when the file is written.

    Raises:
        typer.Exit: it is a folder, or may not be written; standard error says why.
    """
    if file is None:
        return None
    try:
        if file.is_fifo():
            return file
        if file.is_dir():
            raise _unwritable(file, why="it is a folder; give the name of a file")
        if file.exists():
            with file.open("ab"):
                pass
        else:
            _check_folder(file.parent, of=file)
    except OSError as error:
        raise _unwritable(file, why=str(error.strerror)) from None
    return file


def writable_folder(folder: Path | None) -> Path | None:
    """The same for options that name an output folder."""
    if folder is None:
        return None
    try:
        _check_folder(folder, of=folder)
    except OSError as error:
        raise _unwritable(folder, why=str(error.strerror)) from None
    return folder


def _check_folder(folder: Path, *, of: Path) -> None:
    existing = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not existing.is_dir():
        raise _unwritable(of, why=f"{existing} is no folder")
    with tempfile.TemporaryFile(dir=existing):
        pass


def _unwritable(path: Path, *, why: str) -> typer.Exit:
    sys.stderr.write(f"planarena: {path} cannot be written: {why}\n")
    return typer.Exit(ExitCode.BAD_USAGE)


VerboseOption = Annotated[
    bool, typer.Option("--verbose", help="Show logs and warnings of libraries; the same as PLANARENA_VERBOSE=1.")
]
"""Read by `evaluator.cli.main.main`, before any library is imported."""

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on standard output.")]
OutputFile = Annotated[
    Path | None, typer.Option("--output", metavar="FILE", help="Write the JSON to FILE.", callback=writable)
]
"""For commands whose report is worth keeping. Does not change the printed output."""
MarkdownFile = Annotated[
    Path | None, typer.Option("--out", help="Also write the tables to this file, as Markdown.", callback=writable)
]
