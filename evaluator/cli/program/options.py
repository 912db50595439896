"""Options that many commands share. Imports nothing that takes long: commands of a site use them too."""

from pathlib import Path
from typing import Annotated

import typer

VerboseOption = Annotated[
    bool, typer.Option("--verbose", help="Show logs and warnings of libraries; the same as PLANARENA_VERBOSE=1.")
]
"""Read by `evaluator.cli.main.main`, before any library is imported."""

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on standard output.")]
OutputFile = Annotated[Path | None, typer.Option("--output", metavar="FILE", help="Write the JSON to FILE.")]
"""For commands whose report is worth keeping. What is printed does not change."""
