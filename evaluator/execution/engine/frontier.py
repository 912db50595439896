"""The frontier of a run: the distinct calls that can be executed now, per tool, and which tool is next."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from evaluator.core.expert import ExpertSpec
from evaluator.core.plans.model import Step
from evaluator.core.records import ArtefactReference
from evaluator.execution.engine.jobs import JobState


@dataclass(slots=True, eq=False)
class Node:
    """One distinct call, with everybody who waits for it."""

    spec: ExpertSpec
    key: str
    """Store key at the batch size of the profile; what tells calls apart."""
    inputs: Mapping[str, ArtefactReference]
    seed: int | None
    waiters: list[tuple[JobState, Step]] = field(default_factory=list)


class Frontier:
    """Counts steps as they go from "inputs are missing" to "can be executed". Each change costs constant time."""

    def __init__(self) -> None:
        self._pending: dict[str, dict[str, Node]] = {}
        self._asked: Counter[str] = Counter()
        """Per tool, the steps that wait for its pending nodes."""
        self._coming: Counter[str] = Counter()
        """Per tool, the steps that lack an input."""

    def __bool__(self) -> bool:
        return bool(self._pending)

    def expect(self, steps: Iterable[Step]) -> None:
        """Steps that will come."""
        for step in steps:
            self._coming[step.tool] += 1

    def forget(self, steps: Iterable[Step]) -> None:
        """Steps that were expected and have come, or will not come any more."""
        # For one step `subtract` costs twice as much as this.
        for step in steps:
            self._coming[step.tool] -= 1

    def holds(self, node: Node) -> bool:
        """Whether the same call is queued already."""
        return node.key in self._pending.get(node.spec.tool, ())

    def add(self, *, node: Node, state: JobState, step: Step) -> None:
        """A step that can be executed. It joins the node with the same key if there is one."""
        same = self._pending.setdefault(step.tool, {}).setdefault(node.key, node)
        same.waiters.append((state, step))
        self._asked[step.tool] += 1

    def take(self, tool: str) -> list[Node]:
        """All nodes of a tool, in the order in which they came."""
        del self._asked[tool]
        return list(self._pending.pop(tool).values())

    def next_tool(self, *, loaded: Iterable[str]) -> str:
        """The tool of whose steps the smallest share is still to come: so it is run as seldom as can be.

        Among equals one that is loaded, then the one for which most steps wait.
        """
        there = frozenset(loaded)

        def rank(tool: str) -> tuple[float, bool, int]:
            asked = self._asked[tool]
            return asked / (asked + self._coming[tool]), tool in there, asked

        return max(self._pending, key=rank)

    @property
    def pending_tools(self) -> tuple[str, ...]:
        """The tools that have something to do."""
        return tuple(self._pending)

    def pending_calls(self, tool: str) -> int:
        """Distinct calls of a tool that can be executed now."""
        return len(self._pending.get(tool, ()))

    def coming(self) -> Mapping[str, int]:
        """Per tool, the steps that lack an input."""
        return self._coming
