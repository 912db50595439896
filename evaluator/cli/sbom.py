"""The command `planarena sbom`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from evaluator import __version__
from evaluator.core.commands.options import writable
from evaluator.core.commands.streams import as_printable_json
from evaluator.core.commands.usage import usage_error, write_text
from evaluator.core.provenance import SHIPPED, code_version

_NAME = "package-lock.json"
NPM_LOCK = SHIPPED / _NAME if SHIPPED.is_dir() else Path(__file__).resolve().parents[2] / "frontend" / _NAME


def print_sbom(
    output: Annotated[
        Path | None, typer.Option("--output", help="Write it to this file instead of printing it.", callback=writable)
    ] = None,
) -> None:
    """Print the installed packages and those of the front end as a CycloneDX document (JSON)."""
    # Imported here: no other command needs the CycloneDX library.
    from evaluator.core.sbom import SbomError, sbom

    commit, _ = code_version()
    try:
        document = sbom(version=__version__, commit=commit, npm_lock=NPM_LOCK if NPM_LOCK.is_file() else None)
    except SbomError as error:
        raise usage_error(error) from None
    if output is None:
        sys.stdout.write(as_printable_json(document + "\n"))
    else:
        write_text(document + "\n", file=output)
