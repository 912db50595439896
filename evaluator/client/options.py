"""Options of the commands of the client."""

from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

import typer

from evaluator.client.api import URL_VARIABLE
from evaluator.core.commands.options import writable

_MOMENTS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]


UrlOption = Annotated[str, typer.Option("--url", envvar=URL_VARIABLE, help="The site's address.")]


PatienceOption = Annotated[
    float, typer.Option(min=0, help="Seconds for which a site that cannot be reached is tried again.")
]


HeaderOption = Annotated[
    str, typer.Option(metavar="NAME", help="A header that the endpoint asks for, such as Authorization.")
]


HeaderVariableOption = Annotated[
    str, typer.Option(metavar="VAR", help="The variable that has its value; the site keeps it encrypted.")
]


Priority = Literal["low", "normal", "high"]


VisibilityOption = Annotated[
    str, typer.Option(metavar="public|embargo|private", help="Who sees it; default: public, or embargo with a date.")
]


EmbargoOption = Annotated[
    datetime | None, typer.Option(formats=_MOMENTS, help="When the embargo ends, in UTC: it is then public and ranked.")
]


IdArgument = Annotated[
    str, typer.Argument(metavar="ID", help="Of a submission or of one evaluation; its first characters are enough.")
]


JunitFile = Annotated[
    Path | None, typer.Option("--junit", metavar="FILE", help="Write a JUnit report to FILE.", callback=writable)
]


ResultsFile = Annotated[
    Path | None,
    typer.Option(
        "--output",
        metavar="FILE",
        help="Write the JSON to FILE; a name that ends in .csv or .parquet: a table of one evaluation's tasks.",
        callback=writable,
    ),
]


SummaryFile = Annotated[
    Path | None,
    typer.Option(
        "--summary",
        metavar="FILE",
        help="Append a summary in Markdown to FILE, such as $GITHUB_STEP_SUMMARY.",
        callback=writable,
    ),
]


TaskThreshold = Annotated[
    float | None,
    typer.Option("--task-threshold", metavar="NUMBER", help="With --junit: a task below this score is a failure."),
]
