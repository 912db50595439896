"""Batches: which calls share one, how large it is, and what happens when an expert or the memory fails."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import cast

from evaluator.core.expert import Expert, ExpertError, ExpertSpec, SamplingExpert
from evaluator.core.values import Value
from evaluator.execution.engine.frontier import Node

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
