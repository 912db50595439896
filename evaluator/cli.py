"""The command line of the library: `planarena suites|planners|profiles|evaluate|bench|lilliput|train`."""

import inspect
import os
import sys
from typing import Annotated

import typer
from rich.console import Console

from evaluator import __version__
from evaluator.bench_cli import app as bench_app
from evaluator.cli_of_training import app as training_app
from evaluator.cli_of_world import app as lilliput_app
from evaluator.client.cli import COMMANDS as SITE_COMMANDS
from evaluator.evaluate_cli import evaluate
from evaluator.judging_cli import judge_plans, score_decompositions
from evaluator.listing import Listing
from evaluator.planners.bundled import DESCRIPTIONS, bundled_names
from evaluator.planners.language_models.choosing import FORMS
from evaluator.planners.strategies.registry import abilities_in_words, strategies
from evaluator.profiles_cli import app as profiles_app
from evaluator.provenance import version_line
from evaluator.quiet import VERBOSE, only_downloads, quieten
from evaluator.sbom_cli import print_sbom
from evaluator.scoring_cli import score_plans
from evaluator.suites_cli import VerboseOption, usage_error
from evaluator.suites_cli import app as suites_app
from evaluator.tools.controlllm import CONTROLLLM
from evaluator.tools.graph import tools_graph_svg
from evaluator.tools.openagi import OPENAGI
from evaluator.tools.types import Catalogue
from evaluator.validity_cli import validity

CATALOGUES = {"controlllm": CONTROLLLM, "openagi": OPENAGI}
CatalogueOption = Annotated[str, typer.Option(help="Which tools: controlllm or openagi.")]

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)
planners_app = typer.Typer(help="The planners that come with PlanArena.", no_args_is_help=True)
tools_app = typer.Typer(help="The tools that plans may call.", no_args_is_help=True)
app.add_typer(suites_app, name="suites")
app.add_typer(planners_app, name="planners")
app.add_typer(profiles_app, name="profiles")
app.add_typer(tools_app, name="tools")
app.add_typer(lilliput_app, name="lilliput")
app.add_typer(training_app, name="train")
app.add_typer(bench_app, name="bench")
app.command()(evaluate)
app.command("score-plans")(score_plans)
app.command("score-decompositions")(score_decompositions)
app.command("judge-plans")(judge_plans)
app.command()(validity)
app.command("sbom")(print_sbom)
for site_command in SITE_COMMANDS:
    app.command(rich_help_panel="With a site")(site_command)

out = Console()


def _unwrap_help(group: typer.Typer) -> None:
    """Join the lines of each paragraph of help: docstrings are wrapped for the source, and terminals are narrower."""
    for command in group.registered_commands:
        text = inspect.cleandoc(command.help or getattr(command.callback, "__doc__", None) or "")
        command.help = "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))
    for member in group.registered_groups:
        if member.typer_instance is not None:
            _unwrap_help(member.typer_instance)


_unwrap_help(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(version_line(__version__) + "\n")
        raise typer.Exit


@app.callback()
def planarena(
    version: Annotated[
        bool, typer.Option("--version", help="Print version and commit.", callback=_print_version, is_eager=True)
    ] = False,
    verbose: VerboseOption = False,
) -> None:
    """PlanArena: evaluate planners."""


@planners_app.command("list")
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


@tools_app.command("list")
def list_tools(catalogue: CatalogueOption = "controlllm") -> None:
    """List the tools of a catalogue with their signatures."""
    table = Listing("tool", "domain", "takes", "gives")
    for tool in _catalogue(catalogue).tools.values():
        takes = ", ".join(f"{name}: {kind}" for name, kind in tool.inputs.items())
        gives = ", ".join(f"{name}: {kind}" for name, kind in tool.outputs.items())
        table.add_row(tool.name, tool.domain, takes, gives)
    table.show(out)


@tools_app.command("graph")
def draw_graph(
    catalogue: CatalogueOption = "controlllm",
    as_svg: Annotated[bool, typer.Option("--svg", help="Print an SVG drawing instead of the edges.")] = False,
) -> None:
    """Print the graph of tools and resource types, as it follows from the signatures."""
    chosen = _catalogue(catalogue)
    if as_svg:
        sys.stdout.write(tools_graph_svg(chosen))
        return
    for tool in chosen.tools.values():
        for kind in dict.fromkeys(tool.input_types):
            sys.stdout.write(f"{kind} -> {tool.name}\n")
        for kind in dict.fromkeys(tool.output_types):
            sys.stdout.write(f"{tool.name} -> {kind}\n")


def _catalogue(name: str) -> Catalogue:
    if name not in CATALOGUES:
        raise usage_error(f"there is no catalogue {name!r}; there are: {', '.join(CATALOGUES)}")
    return CATALOGUES[name]


def main() -> None:
    """Entry point of `python -m evaluator`."""
    if "--verbose" in sys.argv[1:]:
        os.environ[VERBOSE] = "1"
    quieten(bars=only_downloads(sys.argv[1:]))
    app(prog_name="planarena")
