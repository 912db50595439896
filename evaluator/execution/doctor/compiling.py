"""An expert with compiled networks: what `torch.compile` would gain, and what it costs.

No profile compiles: this measures whether one should. See docs/paper-profile.md, "Compiled networks".
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from evaluator.core.expert import Expert, ExpertSpec
from evaluator.core.values import encode
from evaluator.execution.doctor.inputs import item_for
from evaluator.execution.engine.frontier import CRASHES, run_padded


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """Full batches of one expert. Times in seconds."""

    plain: float = 0.0
    """Before its networks were compiled."""
    first: float = 0.0
    """The first batch after it, which compiles."""
    later: float = 0.0
    """One after that."""
    equal: bool = False
    """Whether answers have equal bytes."""
    problem: str = ""
    """Why it could not be compiled."""

    @property
    def batches_to_pay(self) -> float | None:
        """Batches after which compiling has paid for itself; None if it never does."""
        gain = self.plain - self.later
        return None if self.problem or gain <= 0 else max(self.first - self.later, 0.0) / gain


def compiled(expert: Expert, *, spec: ExpertSpec) -> Compiled:
    """Time full batches of an expert before and after its networks are compiled. It stays compiled: load it again.

    Args:
        expert: loaded on the device of `spec`.
        spec: its entry with the batch size for the device.
    """
    plain, wanted = _timed(expert, spec=spec)
    try:
        networks = list(_networks_of(expert))
        if not networks:
            return Compiled(plain=plain, problem="it has no networks")
        for network in networks:
            network.compile()
        first, _ = _timed(expert, spec=spec)
        later, answers = _timed(expert, spec=spec)
    except (*CRASHES, ImportError) as error:
        return Compiled(plain=plain, problem=f"{type(error).__name__}: {str(error)[:300]}")
    return Compiled(plain=plain, first=first, later=later, equal=answers == wanted)


def _timed(expert: Expert, *, spec: ExpertSpec) -> tuple[float, list[dict[str, bytes]]]:
    items = [item_for(spec.tool, number=number) for number in range(spec.batch_size)]
    began = time.perf_counter()
    outputs = run_padded(
        expert=expert, spec=spec, size=spec.batch_size, items=items, seeds=[*range(spec.batch_size)]
    )  # fmt: skip
    seconds = time.perf_counter() - began
    return seconds, [{name: encode(value).data for name, value in output.items()} for output in outputs]


def _networks_of(expert: object) -> Iterator[Any]:
    """The networks of an expert, of its pipeline and of experts that it uses."""
    from torch import nn

    pending, seen = list[Any]([expert]), set[int]()
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, nn.Module):
            yield value
        elif isinstance(parts := getattr(value, "components", None), dict):
            pending += parts.values()
        elif type(value).__module__.startswith("evaluator.") and hasattr(value, "__dict__"):
            pending += vars(value).values()
