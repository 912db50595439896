"""What commands share: the consoles, `--verbose`, and how bad usage is reported."""

from typing import Annotated

import typer
from rich.console import Console

from evaluator.suites import Suite, suite_of

EXIT_BAD_USAGE = 2

VerboseOption = Annotated[
    bool, typer.Option("--verbose", help="Show what the libraries log and warn of, as PLANARENA_VERBOSE=1 does.")
]
"""Read by `evaluator.cli.main.main`, before any library is imported."""

out = Console()
log = Console(stderr=True)


def chosen_suite(slug: str) -> Suite:
    """The suite with this slug.

    Raises:
        typer.Exit: there is none; the sentence that says so is printed.
    """
    try:
        return suite_of(slug)
    except LookupError as error:
        raise usage_error(error) from None


def usage_error(problem: Exception | str) -> typer.Exit:
    """Print what was wrong, and give the exit to raise."""
    message = problem.args[0] if isinstance(problem, LookupError) else str(problem)
    log.print(f"planarena: {message}", style="red", markup=False, highlight=False, soft_wrap=True)
    return typer.Exit(EXIT_BAD_USAGE)
