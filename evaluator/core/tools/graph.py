"""The tool graph: which resources each tool takes and gives, derived from the signatures, and its drawing.

The drawing has three layers: resources on the left, tools in the middle under their domains, resources again on the
right. So every edge runs from left to right, and what a tool makes can be followed from the same name on the left.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from evaluator.core.tools.types import Catalogue, ResourceType, Tool


@dataclass(frozen=True, slots=True)
class ToolGraph:
    """A bipartite graph of tools and resource types. An edge stands once, however often a signature has the type."""

    tools: tuple[str, ...]
    resources: tuple[ResourceType, ...]
    """The types that occur, in the order of `ResourceType`."""
    takes: tuple[tuple[ResourceType, str], ...]
    """Edges from a resource type to a tool that takes it."""
    gives: tuple[tuple[str, ResourceType], ...]
    """Edges from a tool to a resource type that it gives."""

    def tools_taking(self, resource: ResourceType) -> tuple[str, ...]:
        """The tools with an input of a type."""
        return tuple(tool for kind, tool in self.takes if kind is resource)

    def tools_giving(self, resource: ResourceType) -> tuple[str, ...]:
        """The tools with an output of a type."""
        return tuple(tool for tool, kind in self.gives if kind is resource)

    def reachable(self, resources: Iterable[ResourceType]) -> frozenset[ResourceType]:
        """The types that can be made from some types, and these: a tool runs once all the types it takes are there."""
        there = set(resources)
        waiting = {tool: {kind for kind, taker in self.takes if taker == tool} for tool in self.tools}
        while ready := [tool for tool, wanted in waiting.items() if wanted <= there]:
            for tool in ready:
                del waiting[tool]
            there.update(kind for tool, kind in self.gives if tool in ready)
        return frozenset(there)


def tool_graph(catalogue: Catalogue) -> ToolGraph:
    """The graph of a catalogue's signatures."""
    tools = tuple(catalogue.tools.values())
    occurring = {kind for tool in tools for kind in (*tool.input_types, *tool.output_types)}
    return ToolGraph(
        tools=tuple(tool.name for tool in tools),
        resources=tuple(kind for kind in ResourceType if kind in occurring),
        takes=tuple((kind, tool.name) for tool in tools for kind in dict.fromkeys(tool.input_types)),
        gives=tuple((tool.name, kind) for tool in tools for kind in dict.fromkeys(tool.output_types)),
    )


# Measures in pixels. A character of the 12 px type is at most 7.3 wide in the usual sans-serif faces.
_ROW = 20
_GAP = 26
_TOP = 56
_MARGIN = 16
_RESOURCE = 110
_SPACE = 260
_CHARACTER = 7.3

# Colours that hold on light and on dark ground stand at the elements; text and ground follow the reader's scheme.
_STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #1c2430; }
  .heading { font-weight: 600; font-size: 15px; }
  .domain { font-weight: 600; fill: #5a6675; }
  .ground { fill: #ffffff; }
  .tool { fill: #eef1f5; stroke: #b4bdc9; }
  .edge { fill: none; stroke-width: 1.2; stroke-opacity: 0.55; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e4e8ee; }
    .domain { fill: #9aa6b5; }
    .ground { fill: #14181e; }
    .tool { fill: #232a33; stroke: #4b5664; }
  }
"""


@dataclass(frozen=True, slots=True)
class _Layout:
    rows: Mapping[str, float]
    """Middle of each tool's box."""
    domains: Sequence[tuple[str, float]]
    takes: Mapping[ResourceType, float]
    gives: Mapping[ResourceType, float]
    tool_width: float
    height: float

    @property
    def tools_at(self) -> float:
        return _MARGIN + _RESOURCE + _SPACE

    @property
    def results_at(self) -> float:
        return self.tools_at + self.tool_width + _SPACE

    @property
    def width(self) -> float:
        return self.results_at + _RESOURCE + _MARGIN


def tools_graph_svg(catalogue: Catalogue) -> str:
    """The tool graph as an SVG document of its own, legible on light and dark ground, with titles to be read out."""
    graph = tool_graph(catalogue)
    layout = _layout(catalogue=catalogue, graph=graph)
    # Hues around the circle by the golden angle, so that neighbours differ clearly.
    colours = {kind: f"hsl({index * 137.5 % 360:.0f} 62% 50%)" for index, kind in enumerate(graph.resources)}
    parts = [
        *_header(catalogue=catalogue, graph=graph, layout=layout),
        *_edges(graph=graph, layout=layout, colours=colours),
        *_resources(places=layout.takes, left=_MARGIN, colours=colours, verb="taken by", linked=graph.tools_taking),
        *(
            f'<text class="domain" x="{layout.tools_at:.1f}" y="{at + 4:.1f}">{escape(name)}</text>'
            for name, at in layout.domains
        ),
        *(_tool(tool=tool, layout=layout) for tool in catalogue.tools.values()),
        *_resources(
            places=layout.gives,
            left=layout.results_at,
            colours=colours,
            verb="given by",
            linked=graph.tools_giving,
        ),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _layout(*, catalogue: Catalogue, graph: ToolGraph) -> _Layout:
    rows: dict[str, float] = {}
    domains = []
    at = float(_TOP)
    for domain, tools in groupby(catalogue.tools.values(), key=lambda tool: tool.domain):
        domains.append((domain, at + _ROW / 2))
        for tool in tools:
            at += _ROW + 2
            rows[tool.name] = at + _ROW / 2
        at += _ROW + 10
    lists = (rows, [name for name, _ in domains])
    longest = max((len(name) for names in lists for name in names), default=0)
    taken = _spread({kind: [rows[tool] for tool in graph.tools_taking(kind)] for kind in graph.resources})
    given = _spread({kind: [rows[tool] for tool in graph.tools_giving(kind)] for kind in graph.resources})
    bottom = max([at, *taken.values(), *given.values()])
    return _Layout(
        rows=rows,
        domains=domains,
        takes=taken,
        gives=given,
        tool_width=longest * _CHARACTER + 20,
        height=bottom + _GAP + _MARGIN,
    )


def _spread(wanted: Mapping[ResourceType, Sequence[float]]) -> dict[ResourceType, float]:
    """Each resource near the middle of the tools it is linked to, and at least a gap below the one before."""
    middles = {kind: sum(rows) / len(rows) for kind, rows in wanted.items() if rows}
    places: dict[ResourceType, float] = {}
    at = _TOP - _GAP / 2
    for kind in sorted(middles, key=middles.__getitem__):
        at = max(at + _GAP, middles[kind])
        places[kind] = at
    return places


def _header(*, catalogue: Catalogue, graph: ToolGraph, layout: _Layout) -> list[str]:
    title = f"Tool graph of {catalogue.name}"
    edges = f"{len(graph.takes)} edges from resources to tools, {len(graph.gives)} from tools to resources"
    about = f"{len(graph.tools)} tools and {len(graph.resources)} resource types; {edges}."
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {layout.width:.0f} {layout.height:.0f}" '
        f'width="{layout.width:.0f}" height="{layout.height:.0f}" role="img" aria-labelledby="title about">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="about">{escape(about)}</desc>',
        f"<style>{_STYLE}</style>",
        '<rect class="ground" width="100%" height="100%" fill="#ffffff"/>',
        _heading(text="takes", left=_MARGIN),
        _heading(text=title, left=layout.tools_at),
        _heading(text="gives", left=layout.results_at),
    ]


def _heading(*, text: str, left: float) -> str:
    return f'<text class="heading" x="{left:.0f}" y="32">{escape(text)}</text>'


def _edges(*, graph: ToolGraph, layout: _Layout, colours: Mapping[ResourceType, str]) -> list[str]:
    taken = _MARGIN + _RESOURCE, layout.tools_at
    given = layout.tools_at + layout.tool_width, layout.results_at
    return [
        _edge(ends=taken, rows=(layout.takes[kind], layout.rows[tool]), colour=colours[kind])
        for kind, tool in graph.takes
    ] + [
        _edge(ends=given, rows=(layout.rows[tool], layout.gives[kind]), colour=colours[kind])
        for tool, kind in graph.gives
    ]


def _edge(*, ends: tuple[float, float], rows: tuple[float, float], colour: str) -> str:
    (start, end), (begin, finish) = ends, rows
    bend = (start + end) / 2
    path = f"M{start:.1f} {begin:.1f}C{bend:.1f} {begin:.1f} {bend:.1f} {finish:.1f} {end:.1f} {finish:.1f}"
    return f'<path class="edge" d="{path}" stroke="{colour}" fill="none"/>'


def _resources(
    *,
    places: Mapping[ResourceType, float],
    left: float,
    colours: Mapping[ResourceType, str],
    verb: str,
    linked: Callable[[ResourceType], tuple[str, ...]],
) -> list[str]:
    return [
        f'<g class="resource"><title>{escape(f"{kind}, {verb} " + ", ".join(linked(kind)))}</title>'
        f'<rect x="{left:.1f}" y="{at - _ROW / 2:.1f}" width="{_RESOURCE}" height="{_ROW}" rx="10" '
        f'fill="{colours[kind]}" fill-opacity="0.25" stroke="{colours[kind]}"/>'
        f'<text x="{left + 12:.1f}" y="{at + 4:.1f}">{kind}</text></g>'
        for kind, at in places.items()
    ]


def _tool(*, tool: Tool, layout: _Layout) -> str:
    signature = f"{_typed(tool.inputs)} -> {_typed(tool.outputs)}"
    at = layout.rows[tool.name]
    return (
        f"<g><title>{escape(f'{tool.name}: {signature}. {tool.description}')}</title>"
        f'<rect class="tool" x="{layout.tools_at:.1f}" y="{at - _ROW / 2:.1f}" width="{layout.tool_width:.1f}" '
        f'height="{_ROW}" rx="4" fill="#eef1f5" stroke="#b4bdc9"/>'
        f'<text x="{layout.tools_at + 10:.1f}" y="{at + 4:.1f}">{escape(tool.name)}</text></g>'
    )


def _typed(types: Mapping[str, ResourceType]) -> str:
    return ", ".join(kind if name == kind else f"{name}: {kind}" for name, kind in types.items())
