"""Drawing a plan: from `plan/1` to the boxes and lines of an SVG, without a browser and without a database.

Layers run from top to bottom. Every node is one layer above its first consumer, so that edges are short. An edge
that spans several layers has a place in each of them, so that it crosses no box. Plans may be invalid: cycles are
drawn as broken edges, and unknown references as literals.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from evaluator.core.tools.types import Catalogue
from leaderboard.evaluations.web.tasks.plan_reading import FAILING, NOTHING, Item, Link, Marks, Reader

NODE_WIDTH, NODE_HEIGHT = 208, 46
LANE_WIDTH = 28
GAP_X, GAP_Y = 28, 46
MARGIN = 8
ARROW = 7
"""Length of an arrow's head, for which a line ends above its box."""
TITLE_CHARACTERS = 28


class Node(NamedTuple):
    """A box: a request's resource, a literal, a step or the answer."""

    kind: str
    x: float
    y: float
    width: int
    height: int
    title: str
    sub: str
    """The small second line."""
    mark: str
    """`failing`, `extra` (the gold plan has no such step), `missing` (the other plan has none), or nothing."""
    tip: str
    """The whole text, where the title is cut."""

    @property
    def failing(self) -> bool:
        return self.mark == FAILING

    @property
    def middle(self) -> float:
        return self.x + self.width / 2

    @property
    def title_y(self) -> float:
        return self.y + (self.height / 2 + 5 if not self.sub else 20)

    @property
    def sub_y(self) -> float:
        return self.y + 36


class Edge(NamedTuple):
    """A line from a value to its consumer."""

    path: str
    label: str
    """The type of the value."""
    x: float
    y: float
    broken: bool
    conflict: bool = False
    """Whether the value has a wrong type; the label names both types."""


class Graph(NamedTuple):
    """A drawn plan."""

    width: float
    height: float
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    sentence: str
    """The plan as text, for screen readers."""


def draw(
    *,
    plan: Mapping[str, Any],
    catalogue: Catalogue | None = None,
    resources: Mapping[str, str] | None = None,
    marks: Marks = NOTHING,
    texts_inside: bool = False,
) -> Graph:
    """Draw a plan.

    `resources` gives the types of the request's resources. With `texts_inside`, literals are inside the boxes of
    their steps.
    """
    reader = Reader(catalogue=catalogue, resources=resources or {}, marks=marks, texts_inside=texts_inside)
    items, links = reader.read(plan)
    broken = _broken_links(items=items, links=links)
    sound = [link for link in links if link not in broken]
    layers = _layers(items=items, links=sound)
    lanes = _lanes(links=sound, layers=layers)
    places, width = _places(items=items, layers=layers, lanes=lanes)
    height = (max(layers.values(), default=0) + 1) * (NODE_HEIGHT + GAP_Y) - GAP_Y + 2 * MARGIN
    nodes = tuple(_node(item=item, place=places[key]) for key, item in items.items())
    edges = _edges(links=links, places=places, lanes=lanes, broken=broken)
    return Graph(width=width, height=height, nodes=nodes, edges=edges, sentence=_sentence(plan, items=items))


def _broken_links(*, items: Mapping[str, Item], links: list[Link]) -> set[Link]:
    """Links that close a cycle: those that lead back to a node on the path being walked."""
    onward: dict[str, list[Link]] = {}
    for link in links:
        onward.setdefault(link.source, []).append(link)
    done: set[str] = set()
    broken: set[Link] = set()
    for root in items:
        on_path: dict[str, None] = {}
        stack: list[tuple[str, int]] = [(root, 0)]
        while stack:
            node, position = stack.pop()
            on_path[node] = None
            following = onward.get(node, [])
            if node in done or position >= len(following):
                done.add(node)
                on_path.pop(node, None)
                continue
            stack.append((node, position + 1))
            link = following[position]
            if link.target in on_path:
                broken.add(link)
            elif link.target not in done:
                stack.append((link.target, 0))
    return broken


def _layers(*, items: Mapping[str, Item], links: list[Link]) -> dict[str, int]:
    """Layer of each node, counted from the top."""
    onward: dict[str, list[str]] = {}
    for link in links:
        onward.setdefault(link.source, []).append(link.target)
    heights = {key: 0 if item.kind == "answer" else 1 for key, item in items.items()}
    for _ in items:  # a longest path has at most as many links as there are nodes
        changed = False
        for node, targets in onward.items():
            height = 1 + max(heights[target] for target in targets)
            if height > heights[node]:
                heights[node], changed = height, True
        if not changed:
            break
    top = max(heights.values(), default=0)
    return {key: top - height for key, height in heights.items()}


def _lanes(*, links: list[Link], layers: Mapping[str, int]) -> dict[Link, tuple[str, ...]]:
    """For each link that passes layers, the names of its own places in them."""
    return {
        link: tuple(f"lane:{number}:{layer}" for layer in range(layers[link.source] + 1, layers[link.target]))
        for number, link in enumerate(links)
    }


def _places(
    *, items: Mapping[str, Item], layers: Mapping[str, int], lanes: Mapping[Link, tuple[str, ...]]
) -> tuple[dict[str, tuple[float, float]], float]:
    """Upper left corner of every node and lane, and the width of the drawing."""
    count = max(layers.values(), default=0) + 1
    rows: list[list[str]] = [[] for _ in range(count)]
    for key in items:
        rows[layers[key]].append(key)
    parents: dict[str, list[str]] = {}
    for link, lane in lanes.items():
        chain = [link.source, *lane, link.target]
        for before, after in pairwise(chain):
            parents.setdefault(after, []).append(before)
        for offset, name in enumerate(lane):
            rows[layers[link.source] + 1 + offset].append(name)
    for row in rows[1:]:
        _order(row=row, rows=rows, parents=parents)
    widths = [sum(_width(key) for key in row) + GAP_X * (len(row) - 1) for row in rows]
    total = max(widths, default=0) + 2 * MARGIN
    places: dict[str, tuple[float, float]] = {}
    for number, row in enumerate(rows):
        x = (total - widths[number]) / 2
        for key in row:
            places[key] = (x, MARGIN + number * (NODE_HEIGHT + GAP_Y))
            x += _width(key) + GAP_X
    return places, total


def _order(*, row: list[str], rows: list[list[str]], parents: Mapping[str, list[str]]) -> None:
    """Put each node below the middle of what leads to it; nodes without parents keep to the right."""
    position = {key: index / max(len(other) - 1, 1) for other in rows for index, key in enumerate(other)}

    def middle(key: str) -> float:
        above = [position[parent] for parent in parents.get(key, [])]
        return sum(above) / len(above) if above else 1.1

    row.sort(key=middle)


def _width(key: str) -> int:
    return LANE_WIDTH if key.startswith("lane:") else NODE_WIDTH


def _node(*, item: Item, place: tuple[float, float]) -> Node:
    title = item.title if len(item.title) <= TITLE_CHARACTERS else item.title[: TITLE_CHARACTERS - 1] + "…"
    sub = item.sub if len(item.sub) <= TITLE_CHARACTERS + 6 else item.sub[: TITLE_CHARACTERS + 5] + "…"
    return Node(
        kind=item.kind,
        x=place[0],
        y=place[1],
        width=NODE_WIDTH,
        height=NODE_HEIGHT,
        title=title,
        sub=sub,
        mark=item.mark,
        tip=": ".join(filter(None, [item.title, item.sub])),
    )


def _edges(
    *,
    links: list[Link],
    places: Mapping[str, tuple[float, float]],
    lanes: Mapping[Link, tuple[str, ...]],
    broken: set[Link],
) -> tuple[Edge, ...]:
    """Lines between boxes. Links that share a side of a box are spread over it, in the order of their other ends."""
    chains = {link: [link.source, *lanes.get(link, ()), link.target] for link in links}

    def middle(key: str) -> float:
        return places[key][0] + _width(key) / 2

    def port(key: str, siblings: list[Link], link: Link) -> float:
        return places[key][0] + NODE_WIDTH * (siblings.index(link) + 1) / (len(siblings) + 1)

    leaving: dict[str, list[Link]] = {}
    arriving: dict[str, list[Link]] = {}
    for link in sorted(links, key=lambda one: middle(chains[one][1])):
        leaving.setdefault(link.source, []).append(link)
    for link in sorted(links, key=lambda one: middle(chains[one][-2])):
        arriving.setdefault(link.target, []).append(link)
    edges = []
    for link in links:
        points = [(port(link.source, leaving[link.source], link), places[link.source][1] + NODE_HEIGHT)]
        for name in chains[link][1:-1]:
            points += [(middle(name), places[name][1]), (middle(name), places[name][1] + NODE_HEIGHT)]
        points.append((port(link.target, arriving[link.target], link), places[link.target][1] - ARROW))
        edges.append(_edge(points=points, link=link, broken=link in broken))
    return tuple(edges)


def _edge(*, points: list[tuple[float, float]], link: Link, broken: bool) -> Edge:
    (before_x, before_y), (end_x, end_y) = points[-2:]
    return Edge(
        path=_path(points),
        label=link.label,
        x=round((before_x + end_x) / 2, 1),
        y=round((before_y + end_y) / 2 + 4, 1),
        broken=broken,
        conflict=link.conflict,
    )


def _path(points: list[tuple[float, float]]) -> str:
    """Curves between layers, straight lines along lanes."""
    x, y = points[0]
    parts = [f"M{x:.1f} {y:.1f}"]
    for next_x, next_y in points[1:]:
        if next_x == x:
            parts.append(f"L{next_x:.1f} {next_y:.1f}")
        else:
            bend = (next_y - y) / 2
            parts.append(f"C{x:.1f} {y + bend:.1f} {next_x:.1f} {next_y - bend:.1f} {next_x:.1f} {next_y:.1f}")
        x, y = next_x, next_y
    return "".join(parts)


def _sentence(plan: Mapping[str, Any], *, items: Mapping[str, Item]) -> str:
    steps = [
        f"{step['id']}: {step['tool']} of {', '.join((step.get('inputs') or {}).values()) or 'nothing'}"
        for step in plan.get("steps", [])
    ]
    answers = ", ".join(plan.get("answers", [])) or "nothing"
    marked = "".join(f" {item.title}: {item.sub}." for item in items.values() if item.mark)
    return f"Plan with {len(steps)} steps. {'; '.join(steps)}. The answer is {answers}.{marked}"
