"""Examines an expert on a device: two runs, reversed order, one item alone and in company, and against a CPU."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from evaluator.core.canonical_json import JsonValue
from evaluator.core.expert import Expert, ExpertSpec
from evaluator.core.values import Value, encode
from evaluator.execution.doctor.compiling import Compiled, compiled
from evaluator.execution.doctor.inputs import item_for
from evaluator.execution.doctor.sizing import MeasuredSize, measured_sizes, proposed_sizes
from evaluator.execution.engine.frontier import CRASHES, run_padded
from evaluator.execution.engine.pool import for_device
from evaluator.execution.experts.devices import allocated_bytes, peak_bytes, release_memory, reset_peak
from evaluator.execution.experts.differences import difference
from evaluator.execution.experts.profile import load_expert

Load = Callable[..., Expert]
Outputs = Sequence[Mapping[str, Value]]
_SHORT: Mapping[str, int] = {"steps": 4, "max_new_tokens": 16, "min_length": 4, "max_length": 40}
"""In the place of larger parameters of a profile: they cost time and change nothing in how a network computes."""
_COMPARED = 2
"""Items that a CPU computes, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """What was found about one expert. Values that were not measured are None."""

    tool: str
    expert: str
    batch_size: int
    """On the device."""
    load_seconds: float | None = None
    """Including the verification of the weights."""
    run_seconds: float | None = None
    """Of the second full batch."""
    weights_bytes: int | None = None
    """Allocated on the device after loading; None on devices that do not count."""
    peak_bytes: int | None = None
    """Most that was allocated during the batches."""
    repeatable: bool | None = None
    """Whether two runs of one batch give equal bytes."""
    position: bool | None = None
    """Whether the reversed batch gives equal bytes. None for batches of one item."""
    padding: bool | None = None
    """Whether an item gives equal bytes alone and in company. None for batches of one item."""
    difference: float | None = None
    """Largest difference to a CPU, in [0, 1]."""
    tolerance: float | None = None
    """What the profile declares."""
    sizes: Sequence[MeasuredSize] = ()
    """Batches of several sizes, if they were to be measured."""
    compiled: Compiled | None = None
    """With compiled networks, if that was to be measured."""
    problem: str = ""
    """Why the expert could not be examined, or not completely, as a sentence."""

    @property
    def is_right(self) -> bool:
        """Whether everything that was measured is as it must be, and as the profile declares."""
        findings = (self.repeatable, self.position, self.padding)
        within = self.difference is None or self.tolerance is None or self.difference <= self.tolerance
        return not self.problem and False not in findings and within

    @property
    def proposed(self) -> Mapping[int, int]:
        """The entry `batch_sizes` for the profile, by GB of a card; empty if sizes were not measured."""
        return proposed_sizes(self.sizes)

    def to_json(self) -> dict[str, JsonValue]:
        sizes: list[JsonValue] = [size.to_json() for size in self.sizes]
        proposed: dict[str, JsonValue] = {str(card): size for card, size in self.proposed.items()}
        return {**asdict(self), "is_right": self.is_right, "sizes": sizes, "batch_sizes": proposed}


def shortened(spec: ExpertSpec) -> ExpertSpec:
    """The entry with few steps and short answers."""
    parameters = {
        name: min(value, _SHORT[name]) if name in _SHORT and isinstance(value, int) else value
        for name, value in spec.parameters.items()
    }
    return replace(spec, parameters=parameters)


@dataclass(frozen=True, slots=True, kw_only=True)
class Further:
    """What else is measured."""

    sizes: bool = False
    """Batches of several sizes."""
    compiles: bool = False
    """The expert with compiled networks."""


def examine(
    *, spec: ExpertSpec, device: str, with_cpu: bool, load: Load = load_expert, further: Further | None = None
) -> Examination:
    """Load an expert and run it on made-up inputs.

    Args:
        spec: its entry in the profile.
        device: torch device.
        with_cpu: also load it on a CPU and compare the outputs.
        load: loads an expert from `spec` and `device`.
        further: what else to measure; None: nothing.
    """
    there = for_device(spec, device=device)
    result = Examination(
        tool=spec.tool, expert=spec.id, batch_size=there.batch_size, tolerance=spec.tolerance
    )  # fmt: skip
    try:
        expert, result = _loaded(result, spec=there, device=device, load=load)
        result, outputs = _on_device(result, expert=expert, spec=there, device=device)
        if further is not None and further.sizes:
            result = replace(result, sizes=tuple(measured_sizes(expert, spec=spec, device=device)))
        if further is not None and further.compiles:
            result = replace(result, compiled=compiled(expert, spec=there))
        del expert
    except CRASHES as error:
        return replace(result, problem=f"{type(error).__name__}: {error}")
    finally:
        release_memory(device)
    if not with_cpu or device.partition(":")[0] == "cpu":
        return result
    try:
        cpu = _on_cpu(spec=spec, load=load)
    except CRASHES as error:
        return replace(result, problem=f"on the CPU, {type(error).__name__}: {error}")
    return replace(result, difference=max(_difference(one, other) for one, other in zip(outputs, cpu, strict=False)))


def _loaded(result: Examination, *, spec: ExpertSpec, device: str, load: Load) -> tuple[Expert, Examination]:
    before, began = allocated_bytes(device), time.perf_counter()
    expert = load(spec=spec, device=device)
    seconds, after = time.perf_counter() - began, allocated_bytes(device)
    size = None if before is None or after is None else after - before
    return expert, replace(result, load_seconds=seconds, weights_bytes=size)


def _on_device(result: Examination, *, expert: Expert, spec: ExpertSpec, device: str) -> tuple[Examination, Outputs]:
    reset_peak(device)
    items = [item_for(spec.tool, number=number) for number in range(spec.batch_size)]
    first = _run(expert, spec=spec, items=items)
    began = time.perf_counter()
    second = _run(expert, spec=spec, items=items)
    result = replace(
        result,
        run_seconds=time.perf_counter() - began,
        repeatable=_bytes(first) == _bytes(second),
    )
    if spec.batch_size > 1:
        numbers = range(spec.batch_size)
        turned = _run(expert, spec=spec, items=items[::-1], seeds=[*numbers][::-1])[::-1]
        lonely = _run(expert, spec=spec, items=items[:1])
        result = replace(
            result, position=_bytes(turned) == _bytes(first), padding=_bytes(lonely) == _bytes(first[:1])
        )  # fmt: skip
    return replace(result, peak_bytes=peak_bytes(device)), first


def _on_cpu(*, spec: ExpertSpec, load: Load) -> Outputs:
    """The outputs of the first items, one by one: on a CPU they do not depend on the batch."""
    single = replace(spec, batch_size=1)
    expert = load(spec=single, device="cpu")
    numbers = range(min(_COMPARED, spec.batch_size))
    items = [item_for(spec.tool, number=number) for number in numbers]
    return [_run(expert, spec=single, items=[item], seeds=[n])[0] for n, item in zip(numbers, items, strict=True)]


def _run(
    expert: Expert, *, spec: ExpertSpec, items: Sequence[Mapping[str, Value]], seeds: Sequence[int] | None = None
) -> Outputs:
    chosen = range(len(items)) if seeds is None else seeds
    return run_padded(expert=expert, spec=spec, size=spec.batch_size, items=items, seeds=[*chosen])


def _bytes(outputs: Outputs) -> list[dict[str, bytes]]:
    return [{name: encode(value).data for name, value in output.items()} for output in outputs]


def _difference(first: Mapping[str, Value], second: Mapping[str, Value]) -> float:
    """The largest difference of two outputs of an expert, in [0, 1]; 1 if they have other names."""
    if first.keys() != second.keys():
        return 1.0
    return max((difference(value, second[name]) for name, value in first.items()), default=0.0)
