"""The commands `planarena tools ...`."""

import sys
from collections.abc import Mapping
from itertools import groupby
from typing import Annotated

import typer

from evaluator.core.commands.listing import Listing
from evaluator.core.commands.options import JsonFlag
from evaluator.core.commands.usage import out, print_json, usage_error
from evaluator.core.suggestions import no_such
from evaluator.core.tools.catalogues import CONTROLLLM, OPENAGI
from evaluator.core.tools.graph import tools_graph_svg
from evaluator.core.tools.types import Catalogue

CATALOGUES = {catalogue.name: catalogue for catalogue in (CONTROLLLM, OPENAGI)}
CatalogueOption = Annotated[str, typer.Option(help=f"Catalogue of tools: {' or '.join(CATALOGUES)}.")]

app = typer.Typer(no_args_is_help=True)


@app.command("list")
def list_tools(catalogue: CatalogueOption = "controlllm", as_json: JsonFlag = False) -> None:
    """List the tools of a catalogue with their signatures."""
    tools = sorted(_catalogue(catalogue).tools.values(), key=lambda tool: tool.domain)
    if as_json:
        print_json(
            [
                {"name": tool.name, "domain": tool.domain, "inputs": dict(tool.inputs), "outputs": dict(tool.outputs)}
                for tool in tools
            ]
        )
        return
    table = Listing("tool", "inputs", "outputs")
    for domain, members in groupby(tools, key=lambda tool: tool.domain):
        table.add_section(domain)
        for tool in members:
            table.add_row(tool.name, _parameters(tool.inputs), _parameters(tool.outputs))
    table.show(out)


@app.command("graph")
def draw_graph(
    catalogue: CatalogueOption = "controlllm",
    as_svg: Annotated[bool, typer.Option("--svg", help="Print an SVG drawing instead of the edges.")] = False,
) -> None:
    """Print the graph of tools and resource types that follows from the signatures."""
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
        raise usage_error(no_such("catalogue", name, CATALOGUES))
    return CATALOGUES[name]


def _parameters(types: Mapping[str, str]) -> str:
    return ", ".join(f"{name}: {kind}" for name, kind in types.items())
