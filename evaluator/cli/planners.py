"""The command `planarena planners list`."""

import typer

from evaluator.cli.listing import Listing
from evaluator.cli.usage import out
from evaluator.planners.bundled import DESCRIPTIONS, bundled_names
from evaluator.planners.language_models.choosing import FORMS
from evaluator.planners.strategies.registry import abilities_in_words, strategies

app = typer.Typer(help="The planners that come with PlanArena.", no_args_is_help=True)


@app.command("list")
def list_planners() -> None:
    """List the bundled planners and the strategies, with what each needs and which suites it understands."""
    table = Listing("planner", "language model", "suites", "what it does", prose="what it does")
    for name in bundled_names():
        table.add_row(name, "none", "all", DESCRIPTIONS[name])
    table.add_section()
    for entry in strategies().values():
        needs, name = f"must {abilities_in_words(entry.needs)}", f"{entry.name}:MODEL"
        if not entry.needs:
            needs = f"none, or must {abilities_in_words(entry.optional)}" if entry.optional else "none"
            name = f"{entry.name}[:MODEL]" if entry.optional else entry.name
        table.add_row(name, needs, ", ".join(entry.suites) or "all", entry.description)
    table.show(out)
    out.print(f"MODEL is one of: {FORMS}", highlight=False, markup=False, soft_wrap=True)
