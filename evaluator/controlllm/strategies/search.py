"""Thoughts-on-Graph (ControlLLM, section 3.2.3, Algorithm 1): depth-first search for chains of tools.

A path starts at the types of the subtask's arguments and ends with tools that make its returned types. At every node
the candidate function chooses among the adjacent tools: those of the subtask's domains that are not in the path yet and
whose argument types are all available. A path is a solution if nothing in it is idle: a later tool takes every output,
or the subtask returns it, and every argument of the subtask is taken. If no path takes all arguments, paths that leave
some unused are solutions.

Branches without solutions are pruned before they are entered: the idle resources of a path must be able to reach the
returned types with the remaining tools (`_Bounds`). Pruning changes the time and never the result.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from evaluator.core.tools.types import ResourceType, Tool

MAX_TOOLS = 5
MAX_NODES = 20_000
"""Tools that one search may enter, about half a second. A subtask with the necessary domains enters a few thousand. One
with every domain could enter hundreds of thousands, and is searched for shorter paths instead."""
BEAM = 5
GOOD = 3
"""The lowest score of an alternative solution, and the default threshold of the adaptive strategy for tools. The paper
has 3 for solutions and only "a fixed threshold" for tools; the released code has 3."""
GENERAL = "general"
"""The domain of selecting and counting, whose tools belong to every other domain too."""

Chain = tuple[Tool, ...]
CandidateFunction = Callable[[Sequence[Tool], Mapping[str, float]], Sequence[Tool]]
"""The paper's F: chooses the tools to enter among the adjacent ones, in the graph's order, by their scores."""


@dataclass(frozen=True, slots=True)
class SearchStep:
    """A node of the search, for scores that depend on it."""

    path: Chain
    idle: frozenset[ResourceType]
    """Types of the arguments and results that no tool of the path takes."""
    missing: frozenset[ResourceType]
    """Returned types of which the path has too few results."""


StepScores = Callable[[SearchStep], Mapping[str, float]]
"""Scores of every tool at a node, by name."""


def by_score(tools: Sequence[Tool], scores: Mapping[str, float]) -> list[Tool]:
    """The tools, best first, equal ones in the order of the graph."""
    return sorted(tools, key=lambda tool: -scores[tool.name])


def greedy(tools: Sequence[Tool], scores: Mapping[str, float]) -> Sequence[Tool]:
    """The best tool."""
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
    """The result of a search."""

    paths: tuple[Chain, ...]
    """In the order of the search, without duplicates."""
    nodes: int
    """Tools entered, over all paths."""
    all_arguments: bool
    """Whether every path takes all arguments of the subtask."""
    most: int
    """The limit on the length of a path; lower than requested if the search would have exceeded its budget."""


def tools_in_domains(*, tools: Sequence[Tool], domains: Sequence[str]) -> tuple[Tool, ...]:
    """The tools of some domains, and the general ones, in the order of the graph."""
    return tuple(tool for tool in tools if tool.domain in {*domains, GENERAL})


def reachable_tools(*, tools: Sequence[Tool], args: Sequence[ResourceType]) -> tuple[Tool, ...]:
    """The tools that can be called, directly or after others, with arguments of these types."""
    available = set(args)
    reached: set[str] = set()
    while new := [tool for tool in tools if tool.name not in reached and available.issuperset(tool.input_types)]:
        reached.update(tool.name for tool in new)
        available.update(kind for tool in new for kind in tool.output_types)
    return tuple(tool for tool in tools if tool.name in reached)


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
    """All solutions of a subtask that the candidate function reaches.

    Args:
        tools: the tools of the subtask's domains.
        args: type of each argument of the subtask.
        returns: type of each result of the subtask.
        choose: the candidate function.
        scores: scores of the tools by name; the exhaustive function needs none.
        step_scores: scores that depend on the node, instead of `scores`.
        most: most tools in a path.
        prune: whether to skip branches without solutions.
        budget: most tools to enter. A search that exceeds it restarts with a limit of one tool less.
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
    """A tool with its types as indices and as bits."""

    tool: Tool
    takes: tuple[int, ...]
    gives: tuple[int, ...]
    needs: int
    """Bits of `takes`."""
    makes: int
    """Bits of `gives`."""


class _Bounds:
    """Necessary conditions for a path to become a solution, for any candidate function."""

    def __init__(self, *, nodes: Sequence[_Node], wanted: Sequence[int]) -> None:
        self._distances = _distances(nodes=nodes, wanted=wanted)
        self._fan_in = max((len(node.takes) for node in nodes), default=1) - 1
        self._wanted = sum(wanted)

    def allow(self, *, idle: Sequence[int], left: int) -> bool:
        """Whether `left` more tools could turn all idle resources into returned ones.

        A tool takes as many resources as it has inputs and makes at least one, so it reduces the number of idle
        resources by at most one less than its inputs; and each idle resource must reach a returned type.
        """
        if sum(idle) - left * self._fan_in > self._wanted:
            return False
        return all(not count or self._distances[kind] <= left for kind, count in enumerate(idle))


def _distances(*, nodes: Sequence[_Node], wanted: Sequence[int]) -> list[float]:
    """For each type the least number of tools between it and a returned type."""
    distances = [0.0 if count else inf for count in wanted]
    changed = True
    while changed:
        changed = False
        for node in nodes:
            distance = 1 + min(distances[kind] for kind in node.gives)
            for kind in node.takes:
                if distance < distances[kind]:
                    distances[kind] = distance
                    changed = True
    return distances


class _Walk:
    """One depth-first walk. `idle` counts, by type, the resources that no tool has taken yet."""

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
        types = (kind for tool in tools for kind in (*tool.input_types, *tool.output_types))
        kinds = list(dict.fromkeys([*args, *returns, *types]))
        place = {kind: index for index, kind in enumerate(kinds)}
        self._choose, self._scores, self._step_scores, self._most = choose, scores, step_scores, most
        self._kinds = kinds
        self._graph = []
        for tool in tools:
            takes, gives = (tuple(place[kind] for kind in own) for own in (tool.input_types, tool.output_types))
            self._graph.append(_Node(tool=tool, takes=takes, gives=gives, needs=_bits(takes), makes=_bits(gives)))
        self._wanted = [returns.count(kind) for kind in kinds]
        self._given = [args.count(kind) if all_arguments else 0 for kind in kinds]
        self._there = _bits(place[kind] for kind in args)
        self._bounds = _Bounds(nodes=self._graph, wanted=self._wanted) if prune else None
        self._chosen: dict[Hashable, tuple[int, ...]] = {}
        self._budget = budget
        self.nodes = 0

    @property
    def exhausted(self) -> bool:
        """Whether the search needs more than its budget."""
        return self.nodes > self._budget

    def paths(self) -> Iterator[Chain]:
        """The solutions, without duplicates."""
        if any(self._wanted):
            made = [0] * len(self._wanted)
            yield from self._from(path=(), used=0, there=self._there, idle=self._given, made=made)

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
            if all(spare <= wanted <= own for spare, wanted, own in zip(now, self._wanted, products, strict=True)):
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
                counts = list(zip(self._kinds, idle, made, self._wanted, strict=True))
                step = SearchStep(
                    path=path,
                    idle=frozenset(kind for kind, spare, _, _ in counts if spare),
                    missing=frozenset(kind for kind, _, own, wanted in counts if own < wanted),
                )
                scores = self._step_scores(step)
            choice = self._choose([self._graph[index].tool for index in adjacent], scores)
            self._chosen[key] = tuple(places[tool.name] for tool in choice)
        return self._chosen[key]


def _after(*, node: _Node, idle: Sequence[int], made: Sequence[int]) -> tuple[list[int], list[int]]:
    """Idle and made resources after a call. It takes idle resources first, since all of them must be taken."""
    now, products = list(idle), list(made)
    for kind in node.takes:
        now[kind] = max(0, now[kind] - 1)
    for kind in node.gives:
        now[kind] += 1
        products[kind] += 1
    return now, products


def _bits(places: Sequence[int] | Iterator[int]) -> int:
    bits = 0
    for place in places:
        bits |= 1 << place
    return bits
