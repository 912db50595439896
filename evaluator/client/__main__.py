"""`python -m evaluator.client`: only the commands that speak to a site, for pipelines that install nothing large."""

import typer

from evaluator.client.cli import COMMANDS

app = typer.Typer(
    help="Submit to a PlanArena site and follow it.", no_args_is_help=True, pretty_exceptions_enable=False
)
for command in COMMANDS:
    app.command()(command)

if __name__ == "__main__":
    app(prog_name="planarena")
