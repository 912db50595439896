"""The frontier of a run: the distinct calls that can be executed now, which tool is next, and batches of its calls."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import cast

from evaluator.core.expert import Expert, ExpertError, ExpertSpec, SamplingExpert
from evaluator.core.plans.model import Step
from evaluator.core.records import ArtefactReference
from evaluator.core.values import Value
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
        queued = self._pending.setdefault(step.tool, {}).setdefault(node.key, node)
        queued.waiters.append((state, step))
        self._asked[step.tool] += 1

    def take(self, tool: str) -> list[Node]:
        """All nodes of a tool, in the order in which they came."""
        del self._asked[tool]
        return list(self._pending.pop(tool).values())

    def next_tool(self, *, loaded: Iterable[str]) -> str:
        """The tool of whose steps the smallest share is still to come: so it is run as seldom as can be.

        Among equals one that is loaded, then the one for which most steps wait.
        """
        resident = frozenset(loaded)

        def rank(tool: str) -> tuple[float, bool, int]:
            asked = self._asked[tool]
            return asked / (asked + self._coming[tool]), tool in resident, asked

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


CRASHES = (ExpertError, RuntimeError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError, OSError,
           AssertionError, MemoryError)  # fmt: skip
"""What a model's code may raise on an item. An expert is foreign code; a crash of it costs one call, not the run."""

Shape = tuple[tuple[int, int], ...]
"""Widths and heights of the images among the inputs, in pixels; empty for texts, which experts pad to one length."""


@dataclass(frozen=True, slots=True)
class Sized:
    """A node with what decides about its batch."""

    node: Node
    shape: Shape
    characters: int
    """Of the texts among the inputs."""


def buckets(items: Sequence[Sized]) -> Iterator[tuple[Shape, list[Node]]]:
    """Groups of equal image sizes. Within a group short texts come first.

    The order changes no result, since every batch has one shape. But a batch of a model that writes runs until its
    longest text is done, so that texts of like length should share one.
    """
    ordered = sorted(items, key=lambda item: (item.shape, item.characters))
    for shape, group in groupby(ordered, key=lambda item: item.shape):
        yield shape, [item.node for item in group]


class BatchSizes:
    """The largest batch that fitted into memory, for each expert and shape. Learnt from running out of memory."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, Shape], int] = {}

    def size(self, *, spec: ExpertSpec, shape: Shape) -> int:
        """The profile's batch size, or what is left of it."""
        return self._found.get((spec.id, shape), spec.batch_size)

    def halve(self, *, spec: ExpertSpec, shape: Shape) -> bool:
        """Remember that the present size did not fit. False if it was 1 already."""
        size = self.size(spec=spec, shape=shape)
        if size <= 1:
            return False
        self._found[spec.id, shape] = size // 2
        return True


def run_padded(
    *, expert: Expert, spec: ExpertSpec, size: int, items: Sequence[Mapping[str, Value]], seeds: Sequence[int | None]
) -> list[Mapping[str, Value]]:
    """Run at one batch size, filled up with copies of the last item: results depend on nobody else in the batch.

    Args:
        expert: the loaded expert.
        spec: its line in the profile, which says whether it samples.
        size: of the batch.
        items: at most `size`.
        seeds: one for each item, None unless the expert samples.

    Raises:
        ExpertError: the expert gave another number of results than it was given items. And what the expert raises.
    """
    missing = size - len(items)
    padded = [*items, *[items[-1]] * missing]
    if spec.samples:
        filled = [seed or 0 for seed in [*seeds, *[seeds[-1]] * missing]]
        outputs = cast(SamplingExpert, expert).run_seeded(batch=padded, seeds=filled)
    else:
        outputs = expert.run(padded)
    if len(outputs) != size:
        raise ExpertError(f"{spec.id} gave {len(outputs)} results for {size} items")
    return outputs[: len(items)]
