"""The commands `planarena tools ...`."""

import sys
from typing import Annotated

import typer

from evaluator.cli.listing import Listing
from evaluator.cli.usage import out, usage_error
from evaluator.tools.controlllm import CONTROLLLM
from evaluator.tools.graph import tools_graph_svg
from evaluator.tools.openagi import OPENAGI
from evaluator.tools.types import Catalogue

CATALOGUES = {"controlllm": CONTROLLLM, "openagi": OPENAGI}
CatalogueOption = Annotated[str, typer.Option(help="Which tools: controlllm or openagi.")]

app = typer.Typer(help="The tools that plans may call.", no_args_is_help=True)


@app.command("list")
def list_tools(catalogue: CatalogueOption = "controlllm") -> None:
    """List the tools of a catalogue with their signatures."""
    table = Listing("tool", "domain", "takes", "gives")
    for tool in _catalogue(catalogue).tools.values():
        takes = ", ".join(f"{name}: {kind}" for name, kind in tool.inputs.items())
        gives = ", ".join(f"{name}: {kind}" for name, kind in tool.outputs.items())
        table.add_row(tool.name, tool.domain, takes, gives)
    table.show(out)


@app.command("graph")
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
