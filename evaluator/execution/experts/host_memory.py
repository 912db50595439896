"""How much memory a worker's container needs, from a profile's weights and how they are loaded. Imports no torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evaluator.core.canonical_json import JsonValue
from evaluator.core.expert import ExpertSpec
from evaluator.execution.engine.artefacts import CACHE_BYTES, WAITING_BYTES
from evaluator.execution.experts.checkpoints import Checkpoint
from evaluator.execution.experts.profile import NO_WEIGHTS, Profile

GIB = 2**30
LIBRARIES = GIB
"""Of a process that has imported all experts, which takes half of it on Linux. Its allocator keeps the rest."""
CUDA = 4 * GIB
"""Of the libraries and the context of a card: an estimate, not measured."""
BATCHES = 2 * GIB
"""Of a CPU's batches, which no budget covers: an estimate above what the profile `lilliput` takes."""
_WIDTHS = {"float32": 4, "bfloat16": 2, "float16": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class HostMemory:
    """The parts of a worker's memory, in bytes."""

    process: int
    """Libraries, and a card's context or a CPU's batches."""
    values: int
    """Decoded values and unwritten objects that the engine keeps."""
    networks: int
    """On a CPU all that stay loaded. With a card the most that one expert loads: networks are built in the host's
    memory, in their precision, and then moved. The pages of files that are read come on top, but the system takes them
    back."""

    @property
    def total(self) -> int:
        """In whole GiB, rounded up."""
        return -(-(self.process + self.values + self.networks) // GIB)

    def to_json(self) -> dict[str, JsonValue]:
        return {"process": self.process, "values": self.values, "networks": self.networks, "gibibytes": self.total}


def host_memory(profile: Profile, *, device: str, budget: int | None = None) -> HostMemory:
    """The memory that a worker's container needs for a profile.

    Args:
        profile: its experts and scorers.
        device: torch device.
        budget: limit of loaded experts in bytes; None: no limit on a CPU. An expert larger than it is loaded alone.
    """
    needs = [_networks_of(spec, checkpoints=profile.checkpoints) for spec in profile.experts.values()]
    scorers = [
        _size(spec.path, precision="float32", checkpoints=profile.checkpoints) for spec in profile.scorers.values()
    ]
    largest = max((sum(need.values()) for need in needs), default=0)
    if device.partition(":")[0] == "cuda":
        networks, process = max(largest, *scorers), LIBRARIES + CUDA
    else:
        # Experts with equal weights and precision share the network.
        loaded = sum({name: size for need in needs for name, size in need.items()}.values())
        kept = loaded if budget is None else max(min(loaded, budget), largest)
        networks, process = kept + sum(scorers), LIBRARIES + BATCHES
    return HostMemory(process=process, values=CACHE_BYTES + WAITING_BYTES, networks=networks)


def _networks_of(spec: ExpertSpec, *, checkpoints: Mapping[str, Checkpoint]) -> dict[tuple[Path, str], int]:
    """The networks that an expert loads, itself or through others, by weights and precision, with their bytes."""
    return {
        (path, used.precision): _size(path, precision=used.precision, checkpoints=checkpoints)
        for used in (spec, *spec.uses)
        for path in (used.path, used.base)
        if path is not None and path.name != NO_WEIGHTS
    }


def _size(path: Path, *, precision: str, checkpoints: Mapping[str, Checkpoint]) -> int:
    """Bytes of a network: from the parameters of its checkpoint, which need not be fetched, or the size of shipped
    files."""
    if path.name in checkpoints:
        return checkpoints[path.name].values * _WIDTHS[precision]
    return sum(file.stat().st_size for file in path.rglob("*.safetensors"))
