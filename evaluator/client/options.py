"""Options of the commands of the client."""

from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

import typer

from evaluator.client.api import URL_VARIABLE

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


JsonOption = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Write everything to FILE as JSON; - prints it instead.")
]


IdArgument = Annotated[str, typer.Argument(metavar="ID", help="Of a submission or of one evaluation.")]
