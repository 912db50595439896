"""Batch sizes: the time and memory of doubled ones, whether answers stay equal, and which to enter into a profile."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from evaluator.core.canonical_json import JsonValue
from evaluator.core.expert import Expert, ExpertSpec
from evaluator.core.values import encode
from evaluator.execution.doctor.inputs import item_for
from evaluator.execution.engine.frontier import run_padded
from evaluator.execution.engine.pool import SHARE_OF_FREE, Batching
from evaluator.execution.experts.devices import (
    allocated_bytes,
    is_out_of_memory,
    peak_bytes,
    release_memory,
    reset_peak,
)

CARDS = (24, 40, 80)
"""GB of the cards that `batch_sizes` of profiles know."""
_LARGEST = 512
_NEAR = 0.95
"""Share of the best throughput that is near enough for a smaller batch."""
_REPEATED_SECONDS = 2.0
"""A first batch also pays for what is done once; one that takes longer is not repeated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSize:
    """A batch of one size."""

    size: int
    seconds: float
    working_bytes: int | None
    """Allocated at most beside the weights; None on devices that do not count."""
    equal: bool
    """Whether its first answers have the bytes that they have in the smallest batch."""

    @property
    def rate(self) -> float:
        """Items per second."""
        return self.size / self.seconds if self.seconds else 0.0

    def to_json(self) -> dict[str, JsonValue]:
        return {
            "size": self.size, "seconds": self.seconds, "per_second": self.rate, "working_bytes": self.working_bytes,
            "equal": self.equal,
        }  # fmt: skip


def measured_sizes(
    expert: Expert, *, spec: ExpertSpec, device: str, largest: int = _LARGEST, seconds: float = 8.0
) -> Iterator[MeasuredSize]:
    """Run batches of the profile's size for a CPU and its doubles, on made-up inputs.

    Ends where memory does, at `largest`, at the first batch that takes `seconds`, and where two doublings in a row
    gained less than a twentieth. Nothing is measured of an expert whose size is fixed when it is loaded, or is
    declared as one.

    Args:
        expert: loaded on the device.
        spec: its entry, with the size for a CPU.
        device: torch device.
        largest: of all sizes.
        seconds: limit of a batch.
    """
    if not isinstance(expert, Batching) or device.partition(":")[0] in spec.alone:
        return
    size, best, idle = spec.batch_size, 0.0, 0
    wanted: list[dict[str, bytes]] = []
    before = expert.batch_size
    try:
        while size <= largest and idle < 2:
            expert.batch_size = size
            try:
                found, answers = _measured(expert, spec=spec, size=size, device=device)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                return
            wanted = wanted or answers
            found = MeasuredSize(
                size=size, seconds=found.seconds, working_bytes=found.working_bytes,
                equal=answers[: len(wanted)] == wanted,
            )  # fmt: skip
            yield found
            if found.seconds >= seconds:
                return
            idle = idle + 1 if found.rate < best / _NEAR else 0
            best = max(best, found.rate)
            size *= 2
    finally:
        expert.batch_size = before
        release_memory(device)


def _measured(
    expert: Expert, *, spec: ExpertSpec, size: int, device: str
) -> tuple[MeasuredSize, list[dict[str, bytes]]]:
    items = [item_for(spec.tool, number=number) for number in range(size)]
    release_memory(device)
    reset_peak(device)
    before = allocated_bytes(device)
    for _ in range(2):
        began = time.perf_counter()
        outputs = run_padded(expert=expert, spec=spec, size=size, items=items, seeds=[*range(size)])
        took = time.perf_counter() - began
        if took > _REPEATED_SECONDS:
            break
    peak = peak_bytes(device)
    working = None if before is None or peak is None else peak - before
    answers = [{name: encode(value).data for name, value in output.items()} for output in outputs]
    return MeasuredSize(size=size, seconds=took, working_bytes=working, equal=True), answers


def proposed_sizes(measured: Sequence[MeasuredSize], *, cards: Sequence[int] = CARDS) -> Mapping[int, int]:
    """The entry `batch_sizes` of a profile: by GB of a card, the smallest size near the best throughput.

    Only sizes up to the first one whose answers differ count, and of them those whose working memory fits beside the
    share of the card that loaded experts may take. A card that gains nothing over the next smaller one has no entry,
    and neither has any where memory was not counted.
    """
    equal = []
    for one in measured:
        if not one.equal:
            break
        equal.append(one)
    found: dict[int, int] = {}
    last = measured[0].size if measured else 0
    for card in sorted(cards):
        room = (1 - SHARE_OF_FREE) * card * 1e9
        fitting = [one for one in equal if one.working_bytes is not None and one.working_bytes <= room]
        best = max((one.rate for one in fitting), default=0.0)
        size = next((one.size for one in fitting if one.rate >= _NEAR * best), last)
        if size > last:
            found[card] = last = size
    return found
