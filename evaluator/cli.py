"""The command line of the library: `planarena suites|planners|profiles|evaluate|lilliput`."""

import typer
from rich.console import Console
from rich.table import Table

from evaluator.evaluate_cli import evaluate
from evaluator.lilliput.cli import app as lilliput_app
from evaluator.planners.bundled import DESCRIPTIONS, bundled_names
from evaluator.scoring_cli import score_plans
from evaluator.suites_cli import app as suites_app

app = typer.Typer(help="PlanArena: evaluate planners.", no_args_is_help=True, pretty_exceptions_enable=False)
planners_app = typer.Typer(help="The planners that come with PlanArena.", no_args_is_help=True)
profiles_app = typer.Typer(help="Which expert implements each tool.", no_args_is_help=True)
app.add_typer(suites_app, name="suites")
app.add_typer(planners_app, name="planners")
app.add_typer(profiles_app, name="profiles")
app.add_typer(lilliput_app, name="lilliput")
app.command()(evaluate)
app.command("score-plans")(score_plans)

out = Console()


@planners_app.command("list")
def list_planners() -> None:
    """List the bundled planners."""
    table = Table("planner", "what it does")
    for name in bundled_names():
        table.add_row(name, DESCRIPTIONS[name])
    out.print(table)


@profiles_app.command("list")
def list_profiles() -> None:
    """List the profiles with their experts."""
    from evaluator.experts.profile import PROFILES, load_profile

    table = Table("profile", "tool", "expert", "weights")
    for name in sorted(path.stem for path in PROFILES.glob("*.toml")):
        for tool, spec in load_profile(name).experts.items():
            table.add_row(name, tool, spec.id, spec.weights_digest[:12])
    out.print(table)


def main() -> None:
    """Entry point of `python -m evaluator`."""
    app(prog_name="planarena")
