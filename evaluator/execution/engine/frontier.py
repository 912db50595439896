"""The frontier of a run: the distinct calls that can be executed now, the choice of the next tool, and its batches."""

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
    """One distinct call, with the steps that wait for it."""

    spec: ExpertSpec
    key: str
    """Store key at the batch size of the profile, which identifies the call."""
    inputs: Mapping[str, ArtefactReference]
    seed: int | None
    waiters: list[tuple[JobState, Step]] = field(default_factory=list)


class Frontier:
    """Tracks steps from "inputs are missing" to "can be executed". Each change costs constant time."""

    def __init__(self) -> None:
        self._pending: dict[str, dict[str, Node]] = {}
        self._waiting: Counter[str] = Counter()
        """Per tool, the steps that wait for its pending nodes."""
        self._coming: Counter[str] = Counter()
        """Per tool, the steps that lack an input."""

    def __bool__(self) -> bool:
        return bool(self._pending)

    def expect(self, steps: Iterable[Step]) -> None:
        """Add steps that lack an input."""
        for step in steps:
            self._coming[step.tool] += 1

    def forget(self, steps: Iterable[Step]) -> None:
        """Remove expected steps that became ready or were abandoned."""
        # For one step, `Counter.subtract` takes twice as long.
        for step in steps:
            self._coming[step.tool] -= 1

    def holds(self, node: Node) -> bool:
        """Whether the same call is queued."""
        return node.key in self._pending.get(node.spec.tool, ())

    def add(self, *, node: Node, state: JobState, step: Step) -> None:
        """Add a step that can be executed. It joins the queued node with the same key, if any."""
        queued = self._pending.setdefault(step.tool, {}).setdefault(node.key, node)
        queued.waiters.append((state, step))
        self._waiting[step.tool] += 1

    def take(self, tool: str) -> list[Node]:
        """Remove and return all nodes of a tool, in the order of their arrival."""
        del self._waiting[tool]
        return list(self._pending.pop(tool).values())

    def next_tool(self, *, loaded: Iterable[str]) -> str:
        """The tool with the smallest share of steps that lack an input, so that it runs as rarely as possible.

        Ties go to a loaded tool, then to the tool with the most waiting steps.
        """
        resident = frozenset(loaded)

        def rank(tool: str) -> tuple[float, bool, int]:
            waiting = self._waiting[tool]
            return waiting / (waiting + self._coming[tool]), tool in resident, waiting

        return max(self._pending, key=rank)

    @property
    def pending_tools(self) -> tuple[str, ...]:
        """The tools with calls that can be executed."""
        return tuple(self._pending)

    def pending_calls(self, tool: str) -> int:
        """The number of distinct calls of a tool that can be executed."""
        return len(self._pending.get(tool, ()))

    def coming(self) -> Mapping[str, int]:
        """Per tool, the steps that lack an input."""
        return self._coming


CRASHES = (ExpertError, RuntimeError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError, OSError,
           AssertionError, MemoryError)  # fmt: skip
"""Exceptions of a model's code. Experts are third-party code: a crash fails one call, not the run."""

Shape = tuple[tuple[int, int], ...]
"""Widths and heights of the input images, in pixels; empty for texts, which experts pad, and for experts that resize
images."""


@dataclass(frozen=True, slots=True)
class Sized:
    """A node with the sizes that determine its batch."""

    node: Node
    shape: Shape
    characters: int
    """Length of the input texts."""


def buckets(items: Sequence[Sized]) -> Iterator[tuple[Shape, list[Node]]]:
    """Groups of equal image sizes, each sorted by the length of texts.

    The order does not affect results, since every batch has one shape. But text generation runs until the longest text
    of a batch is done, so texts of similar length should share a batch.
    """
    ordered = sorted(items, key=lambda item: (item.shape, item.characters))
    for shape, group in groupby(ordered, key=lambda item: item.shape):
        yield shape, [item.node for item in group]


class BatchSizes:
    """The largest batch that fits into memory, for each expert and shape, learnt from out-of-memory errors."""

    def __init__(self) -> None:
        self._reduced: dict[tuple[str, Shape], int] = {}

    def size(self, *, spec: ExpertSpec, shape: Shape) -> int:
        """The profile's batch size, or a reduced one."""
        return self._reduced.get((spec.id, shape), spec.batch_size)

    def halve(self, *, spec: ExpertSpec, shape: Shape) -> bool:
        """Halve the current size. False if it is 1 already."""
        size = self.size(spec=spec, shape=shape)
        if size <= 1:
            return False
        self._reduced[spec.id, shape] = size // 2
        return True


def run_padded(
    *, expert: Expert, spec: ExpertSpec, size: int, items: Sequence[Mapping[str, Value]], seeds: Sequence[int | None]
) -> list[Mapping[str, Value]]:
    """Run a batch padded to a fixed size with copies of the last item, so that results do not depend on the batch.

    Args:
        expert: the loaded expert.
        spec: its entry in the profile.
        size: size of the batch.
        items: at most `size`.
        seeds: one for each item, None unless the expert samples.

    Raises:
        ExpertError: the expert returned a wrong number of results. The expert's own exceptions propagate.
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
