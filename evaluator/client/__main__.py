"""`python -m evaluator.client`: only the commands that speak to a site, for pipelines that install nothing large."""

import typer

from evaluator.core.commands.lazy import SiteCommands
from evaluator.core.process import settle_streams

app = typer.Typer(cls=SiteCommands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def planarena() -> None:
    """Submit to a PlanArena site and follow it."""


if __name__ == "__main__":
    settle_streams()
    app(prog_name="planarena")
