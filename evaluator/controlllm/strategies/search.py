"""Thoughts-on-Graph (ControlLLM, section 3.2.3, Algorithm 1): depth-first search for chains of tools.

A path starts at the types of the subtask's arguments and ends with the tools that give what the subtask returns. At
every node the candidate function chooses among the adjacent tools: those of the subtask's domains that are not in the
path yet and whose argument types are all there. A path is a solution if nothing in it is idle: every output is taken by
a later tool or is returned, and every argument of the subtask is taken. Where no path takes all arguments, those
that leave some unused are solutions.

Branches from which no solution follows are left out before they are entered: what a path still has to pass on must be
able to reach the returned types with the tools that are left (`_Bounds`). That changes the time and never the result.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from evaluator.core.tools.types import ResourceType, Tool

MAX_TOOLS = 5
MAX_NODES = 20_000
"""Tools that one search may enter, about half a second. A subtask with the domains that it needs enters a few thousand;
one that allows every domain could enter hundreds of thousands, and is searched for shorter paths instead."""
BEAM = 5
GOOD = 3
"""The least score of a solution that is an alternative, and, if nothing else is chosen, of a tool that the adaptive
strategy enters. The paper gives 3 for solutions and only "a fixed threshold" for tools; the released code has 3."""
GENERAL = "general"
"""The domain of selecting and counting, whose tools serve every other domain."""

Chain = tuple[Tool, ...]
CandidateFunction = Callable[[Sequence[Tool], Mapping[str, float]], Sequence[Tool]]
"""The paper's F: of the adjacent tools, in the graph's order, those to enter. Scores are by the tools' names."""


@dataclass(frozen=True, slots=True)
class SearchStep:
    """A node of the search, for scores that depend on it."""

    path: Chain
    """The tools that were entered on the way."""
    idle: frozenset[ResourceType]
    """Types of the arguments and results that nothing on the way has taken."""
    missing: frozenset[ResourceType]
    """Returned types of which the way has made too few."""


StepScores = Callable[[SearchStep], Mapping[str, float]]
"""Scores of every tool at a node, by name."""


def by_score(tools: Sequence[Tool], scores: Mapping[str, float]) -> list[Tool]:
    """The tools, the best first, equally good ones in the order of the graph."""
    return sorted(tools, key=lambda tool: -scores[tool.name])


def greedy(tools: Sequence[Tool], scores: Mapping[str, float]) -> Sequence[Tool]:
    """The one best tool."""
    return by_score(tools, scores)[:1]


def beam(tools: Sequence[Tool], scores: Mapping[str, float], *, width: int = BEAM) -> Sequence[Tool]:
    """The `width` best tools."""
    return by_score(tools, scores)[:width]


def adaptive(tools: Sequence[Tool], scores: Mapping[str, float], *, least: float = GOOD) -> Sequence[Tool]:
    """All tools with at least this score, or else the best."""
    ordered = by_score(tools, scores)
    return [tool for tool in ordered if scores[tool.name] >= least] or ordered[:1]


def exhaustive(tools: Sequence[Tool], scores: Mapping[str, float]) -> Sequence[Tool]:
    """All tools, in the order of the graph."""
    del scores
    return tools


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found."""

    paths: tuple[Chain, ...]
    """In the order in which they were found, each once."""
    nodes: int
    """Tools entered, over all paths."""
    all_arguments: bool
    """Whether every path takes all arguments of the subtask."""
    most: int
    """Tools in a path at most: less than asked for where that would have taken too long."""


def tools_in_domains(*, tools: Sequence[Tool], domains: Sequence[str]) -> tuple[Tool, ...]:
    """The tools of some domains, and the general ones, in the order of the graph."""
    wanted = {*domains, GENERAL}
    return tuple(tool for tool in tools if tool.domain in wanted)


def reachable_tools(*, tools: Sequence[Tool], args: Sequence[ResourceType]) -> tuple[Tool, ...]:
    """The tools that could ever be called when resources of these types are there."""
    there = set(args)
    kept: set[str] = set()
    while new := [tool for tool in tools if tool.name not in kept and there.issuperset(tool.input_types)]:
        kept.update(tool.name for tool in new)
        there.update(kind for tool in new for kind in tool.output_types)
    return tuple(tool for tool in tools if tool.name in kept)


def search(
    *,
    tools: Sequence[Tool],
    args: Sequence[ResourceType],
    returns: Sequence[ResourceType],
    choose: CandidateFunction,
    scores: Mapping[str, float],
    step_scores: StepScores | None = None,
    most: int = MAX_TOOLS,
    prune: bool = True,
    budget: int = MAX_NODES,
) -> SearchResult:
    """All solutions of a subtask that the candidate function leaves.

    Args:
        tools: those of the subtask's domains.
        args: type of each argument of the subtask.
        returns: type of each result that is wanted.
        choose: the candidate function.
        scores: of every tool, by name; the exhaustive function needs none.
        step_scores: scores at each node, instead of the same ones everywhere.
        most: tools in a path.
        prune: whether to leave out branches without solutions.
        budget: tools that may be entered. A search that needs more is begun again for paths of one tool less.
    """
    for length in range(most, 0, -1):
        nodes = 0
        for all_arguments in (True, False):
            walk = _Walk(tools=tools, args=args, returns=returns, choose=choose, scores=scores,
                         step_scores=step_scores, most=length, prune=prune, all_arguments=all_arguments,
                         budget=budget)  # fmt: skip
            paths = tuple(walk.paths())
            nodes += walk.nodes
            if paths or walk.exhausted:
                break
        if not walk.exhausted:
            break
    return SearchResult(paths=paths, nodes=nodes, all_arguments=all_arguments, most=length)


@dataclass(frozen=True, slots=True)
class _Node:
    """A tool with its types as positions in lists and as bits."""

    tool: Tool
    takes: tuple[int, ...]
    gives: tuple[int, ...]
    needs: int
    """Bits of the types that it takes."""
    makes: int


class _Bounds:
    """What must hold of a path that can still become a solution, for any candidate function."""

    def __init__(self, *, nodes: Sequence[_Node], wanted: Sequence[int]) -> None:
        self._distances = _distances(nodes=nodes, wanted=wanted)
        self._fan_in = max((len(node.takes) for node in nodes), default=1) - 1
        self._wanted = sum(wanted)

    def allow(self, *, idle: Sequence[int], left: int) -> bool:
        """Whether `left` more tools could pass all idle resources on to what is returned.

        A tool takes as many resources as it has inputs and gives at least one, so each lessens the number of idle
        ones by at most one less than its inputs; and each idle resource has a way of its own to a returned type.
        """
        if sum(idle) - left * self._fan_in > self._wanted:
            return False
        return all(not count or self._distances[kind] <= left for kind, count in enumerate(idle))


def _distances(*, nodes: Sequence[_Node], wanted: Sequence[int]) -> list[float]:
    """For each type the least number of tools on a way from it to a returned type."""
    distances = [0.0 if count else inf for count in wanted]
    changed = True
    while changed:
        changed = False
        for node in nodes:
            way = 1 + min(distances[kind] for kind in node.gives)
            for kind in node.takes:
                if way < distances[kind]:
                    distances[kind] = way
                    changed = True
    return distances


class _Walk:
    """One depth-first walk. `idle` counts, by type, the resources that nothing has taken yet."""

    def __init__(
        self,
        *,
        tools: Sequence[Tool],
        args: Sequence[ResourceType],
        returns: Sequence[ResourceType],
        choose: CandidateFunction,
        scores: Mapping[str, float],
        step_scores: StepScores | None,
        most: int,
        prune: bool,
        all_arguments: bool,
        budget: int,
    ) -> None:
        tools = [tool for tool in reachable_tools(tools=tools, args=args) if tool.outputs]
        kinds = list(dict.fromkeys([*args, *returns, *(kind for tool in tools for kind in _types(tool))]))
        place = {kind: index for index, kind in enumerate(kinds)}
        self._choose, self._scores, self._step_scores, self._most = choose, scores, step_scores, most
        self._kinds = kinds
        self._graph = [_node(tool=tool, place=place) for tool in tools]
        self._wanted = [returns.count(kind) for kind in kinds]
        self._given = [args.count(kind) if all_arguments else 0 for kind in kinds]
        self._there = _bits(place[kind] for kind in args)
        self._bounds = _Bounds(nodes=self._graph, wanted=self._wanted) if prune else None
        self._chosen: dict[Hashable, tuple[int, ...]] = {}
        self._budget = budget
        self.nodes = 0

    @property
    def exhausted(self) -> bool:
        """Whether there was more to enter than the budget allows."""
        return self.nodes > self._budget

    def paths(self) -> Iterator[Chain]:
        """Every solution, each once."""
        nothing = [0] * len(self._wanted)
        if any(self._wanted):
            yield from self._from(path=(), used=0, there=self._there, idle=self._given, made=nothing)

    def _from(self, *, path: Chain, used: int, there: int, idle: Sequence[int], made: Sequence[int]) -> Iterator[Chain]:
        left = self._most - len(path) - 1
        if left < 0:
            return
        for index in self._candidates(path=path, used=used, there=there, idle=idle, made=made):
            node = self._graph[index]
            now, products = _after(node=node, idle=idle, made=made)
            if self._bounds is not None and not self._bounds.allow(idle=now, left=left):
                continue
            self.nodes += 1
            if self.exhausted:
                return
            longer = (*path, node.tool)
            if self._is_solution(idle=now, made=products):
                yield longer
            yield from self._from(
                path=longer, used=used | 1 << index, there=there | node.makes, idle=now, made=products
            )

    def _candidates(
        self, *, path: Chain, used: int, there: int, idle: Sequence[int], made: Sequence[int]
    ) -> tuple[int, ...]:
        adjacent = [
            index for index, node in enumerate(self._graph) if not used >> index & 1 and not node.needs & ~there
        ]
        key: Hashable = _bits(adjacent)
        if self._step_scores is not None:
            key = key, used, tuple(idle), tuple(made)
        if key not in self._chosen:
            places = {self._graph[index].tool.name: index for index in adjacent}
            scores = self._scores
            if self._step_scores is not None:
                scores = self._step_scores(self._step(path=path, idle=idle, made=made))
            chosen = self._choose([self._graph[index].tool for index in adjacent], scores)
            self._chosen[key] = tuple(places[tool.name] for tool in chosen)
        return self._chosen[key]

    def _step(self, *, path: Chain, idle: Sequence[int], made: Sequence[int]) -> SearchStep:
        return SearchStep(
            path=path,
            idle=frozenset(kind for kind, count in zip(self._kinds, idle, strict=True) if count),
            missing=frozenset(
                kind for kind, count, wanted in zip(self._kinds, made, self._wanted, strict=True) if count < wanted
            ),
        )

    def _is_solution(self, *, idle: Sequence[int], made: Sequence[int]) -> bool:
        return all(
            count <= wanted <= products for count, wanted, products in zip(idle, self._wanted, made, strict=True)
        )


def _after(*, node: _Node, idle: Sequence[int], made: Sequence[int]) -> tuple[list[int], list[int]]:
    """Idle and made resources after a call. It takes idle ones first: they must all be taken by somebody."""
    now, products = list(idle), list(made)
    for kind in node.takes:
        now[kind] = max(0, now[kind] - 1)
    for kind in node.gives:
        now[kind] += 1
        products[kind] += 1
    return now, products


def _node(*, tool: Tool, place: Mapping[ResourceType, int]) -> _Node:
    takes = tuple(place[kind] for kind in tool.input_types)
    gives = tuple(place[kind] for kind in tool.output_types)
    return _Node(tool=tool, takes=takes, gives=gives, needs=_bits(takes), makes=_bits(gives))


def _types(tool: Tool) -> tuple[ResourceType, ...]:
    return (*tool.input_types, *tool.output_types)


def _bits(places: Sequence[int] | Iterator[int]) -> int:
    bits = 0
    for place in places:
        bits |= 1 << place
    return bits
