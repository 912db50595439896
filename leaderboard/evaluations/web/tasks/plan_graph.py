"""Plans as graphs: read from a record, compared with a gold plan, and laid out for SVG. No database."""

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from evaluator.core.tools.types import Catalogue

FAILING, EXTRA, MISSING, DIFFERING = "failing", "extra", "missing", "differing"
_WORDS = {EXTRA: "not in the gold plan", MISSING: "missing from this plan", DIFFERING: "not in every plan"}


class Marks(NamedTuple):
    """Marks in a drawing."""

    problems: Mapping[str | None, str] = {}
    """A short description of each failing step by its id, and of the answer under None."""
    conflicts: frozenset[str | None] = frozenset()
    """Steps, and None for the answer, that receive a value of a wrong type."""
    differing: Mapping[int, str] = {}
    """`EXTRA`, `MISSING` or `DIFFERING`, by the index of the step in the plan."""
    expects: str = ""
    """Type of the answer that the request expects."""


NOTHING = Marks()


class Item(NamedTuple):
    """A node without coordinates."""

    kind: str
    title: str
    sub: str = ""
    mark: str = ""


class Link(NamedTuple):
    """The flow of a value from its producer to its consumer, by their keys."""

    source: str
    target: str
    label: str
    argument: str
    """The target's input: two nodes may have several links."""
    conflict: bool = False


def types_of(tool: str, side: str, *, catalogue: Catalogue | None) -> dict[str, str]:
    """Types of the `inputs` or `outputs` of a tool by name; empty for a tool outside the catalogue."""
    if catalogue is None or tool not in catalogue:
        return {}
    return {name: str(kind) for name, kind in getattr(catalogue[tool], side).items()}


class Reader:
    """Reads one plan, which may be invalid."""

    def __init__(
        self, *, catalogue: Catalogue | None, resources: Mapping[str, str], marks: Marks, texts_inside: bool
    ) -> None:
        """
        Args:
            resources: types of the request's resources.
            texts_inside: draw literals inside their steps.
        """
        self._catalogue = catalogue
        self._resources = resources
        self._marks = marks
        self._texts_inside = texts_inside
        self._items: dict[str, Item] = {}
        self._links: list[Link] = []
        self._makers: dict[str, tuple[str, str]] = {}
        """Key of the node that makes a reference, and the value's type; the name of the output if that is unknown."""

    def read(self, plan: Mapping[str, Any]) -> tuple[dict[str, Item], list[Link]]:
        """Items by key, and the links between them."""
        steps = plan.get("steps", [])
        for number, step in enumerate(steps):
            outputs = types_of(step["tool"], "outputs", catalogue=self._catalogue)
            for port, reference in (step.get("outputs") or {}).items():
                self._makers.setdefault(reference, (f"step:{number}", outputs.get(port, "") or port))
        self._items |= {f"step:{number}": self._step(step, number=number) for number, step in enumerate(steps)}
        marks = self._marks
        for number, step in enumerate(steps):
            conflicts = step["id"] in marks.conflicts
            expected = types_of(step["tool"], "inputs", catalogue=self._catalogue) if conflicts else {}
            for argument, value in (step.get("inputs") or {}).items():
                if not self._is_inside(value):
                    self._link(
                        value=value, target=f"step:{number}", argument=argument, expected=expected.get(argument, "")
                    )
        for number, value in enumerate(plan.get("answers", [])):
            key, failing = f"answer:{number}", FAILING if None in marks.problems else ""
            self._items[key] = Item("answer", "Answer", marks.problems.get(None, ""), failing)
            self._link(value=value, target=key, argument="", expected=marks.expects if None in marks.conflicts else "")
        return self._items, self._links

    def _step(self, step: Mapping[str, Any], *, number: int) -> Item:
        problem = self._marks.problems.get(step["id"], "")
        differs = self._marks.differing.get(number, "")
        inside = [
            f'{argument} "{value}"' for argument, value in (step.get("inputs") or {}).items() if self._is_inside(value)
        ]
        sub = problem or _WORDS.get(differs, "") or ", ".join(inside) or step["id"]
        return Item("step", step["tool"], sub, FAILING if problem else differs)

    def _is_inside(self, value: str) -> bool:
        """Whether a value is a text inside its step's box."""
        refers = value in self._makers or value in self._resources or value.startswith(("$", "<"))
        return self._texts_inside and not refers

    def _link(self, *, value: str, target: str, argument: str, expected: str) -> None:
        source, label = self._source(value=value, target=target, argument=argument or "answer")
        conflict = bool(expected) and label != expected
        words = f"{label}, wants {expected}" if conflict else label
        self._links.append(Link(source, target, words, argument, conflict))

    def _source(self, *, value: str, target: str, argument: str) -> tuple[str, str]:
        """Key of the source node of a value, and the value's type."""
        if value in self._makers:
            return self._makers[value]
        name = value.removeprefix("$")
        if value.startswith("$") or name in self._resources:
            self._items.setdefault(f"resource:{name}", Item("resource", value))
            return f"resource:{name}", self._resources.get(name, "") or argument
        node = f"literal:{target}:{argument}"
        if value.startswith("<") and self._texts_inside:
            self._items[node] = Item("literal", value, "nothing makes this")
            return node, argument
        self._items[node] = Item("literal", f'"{value}"')
        return node, "text"


NODE_WIDTH, NODE_HEIGHT = 208, 46
LANE_WIDTH = 28
GAP_X, GAP_Y = 28, 46
MARGIN = 8
ARROW = 7
"""Length of an arrowhead."""
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
    """`failing`, `extra` (not in the gold plan), `missing` (not in the other plan), `differing`, or empty."""
    tip: str
    """The whole text."""
    key: str
    """Unique in its graph: `step:` and the index of the step in the plan for steps."""

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
    source: str = ""
    """Key of the node that makes the value."""
    target: str = ""
    """Key of its consumer."""


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

    Args:
        resources: types of the request's resources.
        texts_inside: draw literals inside the boxes of their steps.
    """
    reader = Reader(catalogue=catalogue, resources=resources or {}, marks=marks, texts_inside=texts_inside)
    items, links = reader.read(plan)
    broken = _broken_links(items=items, links=links)
    sound = [link for link in links if link not in broken]
    layers = _layers(items=items, links=sound)
    # A link that passes layers has a lane in each of them.
    lanes = {
        link: tuple(f"lane:{number}:{layer}" for layer in range(layers[link.source] + 1, layers[link.target]))
        for number, link in enumerate(sound)
    }
    places, width = _places(items=items, layers=layers, lanes=lanes)
    height = (max(layers.values(), default=0) + 1) * (NODE_HEIGHT + GAP_Y) - GAP_Y + 2 * MARGIN
    nodes = tuple(_node(key=key, item=item, place=places[key]) for key, item in items.items())
    edges = _edges(links=links, places=places, lanes=lanes, broken=broken)
    return Graph(width=width, height=height, nodes=nodes, edges=edges, sentence=_sentence(plan, items=items))


def _broken_links(*, items: Mapping[str, Item], links: list[Link]) -> set[Link]:
    """Links that close a cycle, by depth-first search."""
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


def _places(
    *, items: Mapping[str, Item], layers: Mapping[str, int], lanes: Mapping[Link, tuple[str, ...]]
) -> tuple[dict[str, tuple[float, float]], float]:
    """The upper left corner of every node and lane, and the width of the drawing."""
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
    """Order nodes by the mean position of their parents; nodes without parents go to the right."""
    position = {key: index / max(len(other) - 1, 1) for other in rows for index, key in enumerate(other)}

    def middle(key: str) -> float:
        above = [position[parent] for parent in parents.get(key, [])]
        return sum(above) / len(above) if above else 1.1

    row.sort(key=middle)


def _width(key: str) -> int:
    return LANE_WIDTH if key.startswith("lane:") else NODE_WIDTH


def _node(*, key: str, item: Item, place: tuple[float, float]) -> Node:
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
        key=key,
    )


def _edges(
    *,
    links: list[Link],
    places: Mapping[str, tuple[float, float]],
    lanes: Mapping[Link, tuple[str, ...]],
    broken: set[Link],
) -> tuple[Edge, ...]:
    """Lines between boxes. Links on the same side of a box are spread over it, in the order of their other ends."""
    chains = {link: [link.source, *lanes.get(link, ()), link.target] for link in links}

    def middle(key: str) -> float:
        return places[key][0] + _width(key) / 2

    def port(key: str, siblings: list[Link], link: Link) -> float:
        return places[key][0] + NODE_WIDTH * (siblings.index(link) + 1) / (len(siblings) + 1)

    leaving: dict[str, list[Link]] = {}
    arriving: dict[str, list[Link]] = {}
    for link in sorted(links, key=lambda link: middle(chains[link][1])):
        leaving.setdefault(link.source, []).append(link)
    for link in sorted(links, key=lambda link: middle(chains[link][-2])):
        arriving.setdefault(link.target, []).append(link)
    edges = []
    for link in links:
        points = [(port(link.source, leaving[link.source], link), places[link.source][1] + NODE_HEIGHT)]
        for name in chains[link][1:-1]:
            points += [(middle(name), places[name][1]), (middle(name), places[name][1] + NODE_HEIGHT)]
        points.append((port(link.target, arriving[link.target], link), places[link.target][1] - ARROW))
        (before_x, before_y), (end_x, end_y) = points[-2:]
        edge = Edge(
            path=_path(points),
            label=link.label,
            x=round((before_x + end_x) / 2, 1),
            y=round((before_y + end_y) / 2 + 4, 1),
            broken=link in broken,
            conflict=link.conflict,
            source=link.source,
            target=link.target,
        )
        edges.append(edge)
    return tuple(edges)


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


class Differences(NamedTuple):
    """The differences between a plan and the gold plan."""

    extra: Mapping[int, str]
    """Marks of the plan's steps that are not in the gold plan, by index."""
    missing: Mapping[int, str]
    """Marks of the gold plan's steps that are not in the plan, by index."""
    sentences: tuple[str, ...]
    """The same in words."""


def differences(*, plan: Mapping[str, Any], gold: Mapping[str, Any], resources: Mapping[str, str]) -> Differences:
    """Compare two plans as multisets of tools and, if these agree, of data flows.

    If one plan calls a tool more often than the other, the last calls count as extra or missing.

    Args:
        plan: `plan/1`, possibly invalid.
        gold: `plan/1`.
        resources: those of the request, by name.
    """
    tools, gold_tools = ([str(step["tool"]) for step in steps.get("steps") or ()] for steps in (plan, gold))
    extra, missing = _surplus(tools, gold_tools), _surplus(gold_tools, tools)
    if extra or missing:
        named = _named("Missing", gold_tools, missing), _named("Not in the gold plan", tools, extra)
        sentences = tuple(filter(None, named))
    elif flows(plan, resources=resources) != flows(gold, resources=resources):
        sentences = ("The same steps as the gold plan, connected in another way.",)
    else:
        sentences = ("The same steps as the gold plan, connected in the same way.",)
    return Differences(extra=dict.fromkeys(extra, EXTRA), missing=dict.fromkeys(missing, MISSING), sentences=sentences)


def flows(plan: Mapping[str, Any], *, resources: Mapping[str, str]) -> Counter[tuple[str, str, str]]:
    """Count the data flows of a plan: from a tool, a resource or a text to an input of a tool or the answer."""
    makers = {
        reference: str(step["tool"])
        for step in plan.get("steps") or ()
        for reference in (step.get("outputs") or {}).values()
    }

    def source(value: str) -> str:
        name = value.removeprefix("$")
        return makers.get(value) or (f"${name}" if name in resources else "text")

    counts = Counter(
        (source(value), str(step["tool"]), argument)
        for step in plan.get("steps") or ()
        for argument, value in (step.get("inputs") or {}).items()
    )
    counts.update((source(value), "", "answer") for value in plan.get("answers") or ())
    return counts


def _surplus(tools: list[str], others: list[str]) -> list[int]:
    """Indices of the tools without a counterpart in the others."""
    left = Counter(others)
    places = []
    for place, tool in enumerate(tools):
        if left[tool]:
            left[tool] -= 1
        else:
            places.append(place)
    return places


def _named(words: str, tools: list[str], places: list[int]) -> str:
    counted = Counter(tools[place] for place in places)
    names = [f"{tool} ({count} times)" if count > 1 else tool for tool, count in counted.items()]
    return f"{words}: {', '.join(names)}." if names else ""
