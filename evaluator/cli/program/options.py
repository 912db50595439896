"""Options that many commands share. Imports nothing that takes long: commands of a site use them too."""

from typing import Annotated

import typer

VerboseOption = Annotated[
    bool, typer.Option("--verbose", help="Show logs and warnings of libraries; the same as PLANARENA_VERBOSE=1.")
]
"""Read by `evaluator.cli.main.main`, before any library is imported."""
