"""The interface of experts, the models that implement the tools of a catalogue."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, cast

from evaluator.core.canonical_json import JsonValue
from evaluator.core.values import Value


@dataclass(frozen=True, slots=True)
class ExpertSpec:
    """One line of a profile: which model implements a tool, and everything its output depends on."""

    tool: str
    """Name of the tool in its catalogue, for example `Image Denoising`."""
    id: str
    """Identifier of the expert, unique in the profile, for example `lilliput/denoising`."""
    implementation: str
    """Name of the expert's class in `evaluator.execution.experts.implementations`."""
    path: Path
    """Folder with `config.json` and `model.safetensors`."""
    weights_digest: str
    """SHA-256 over the files of the folder that change its output."""
    code_version: str = "1"
    """The implementation's `code_version`, repeated here so that store keys need no loaded model."""
    precision: str = "float32"
    batch_size: int = 16
    batch_sizes: Mapping[int, int] = field(default_factory=dict)
    """Larger batches for CUDA cards, by their least memory in GB (10^9 bytes)."""
    parameters: Mapping[str, object] = field(default_factory=dict)
    samples: bool = False
    """Whether the model draws random numbers: if so, it is a `SamplingExpert` and gets a seed for each item."""
    resizes: bool = False
    """Whether it brings pictures to one size, so that pictures of different sizes can share a batch."""
    uses: tuple["ExpertSpec", ...] = ()
    """Other experts of the profile that it calls; its output also depends on everything that theirs depends on."""
    base: Path | None = None
    """Folder of a second checkpoint: the base model of a ControlNet, or the source of the tokenizer."""
    base_digest: str = ""
    """The `weights_digest` of that folder; empty if there is none."""
    alone: tuple[str, ...] = ()
    """Kinds of devices, such as `cuda`, on which a result depends on the item's position in a batch. There, items are
    processed one by one."""
    tolerance: float | None = None
    """Largest difference of an output between devices of different classes, in [0, 1]; None if none is declared."""

    def on(self, device: str) -> "ExpertSpec":
        """The entry for a torch device: in batches of 1 on a kind of device in `alone`."""
        size = 1 if device.partition(":")[0] in self.alone else self.batch_size
        return replace(self, batch_size=size, uses=tuple(used.on(device) for used in self.uses))

    def facts(self) -> dict[str, JsonValue]:
        """Everything besides the inputs that determines the outputs, for digests."""
        facts: dict[str, JsonValue] = {
            "id": self.id,
            "implementation": self.implementation,
            "weights": self.weights_digest,
            "code": self.code_version,
            "precision": self.precision,
            "batch_size": self.batch_size,
            "parameters": cast(JsonValue, dict(self.parameters)),
        }
        if self.batch_sizes:
            facts["batch_sizes"] = {str(least): size for least, size in self.batch_sizes.items()}
        if self.base is not None:
            facts["base"] = self.base_digest
        return {**facts, "uses": [used.facts() for used in self.uses]} if self.uses else facts

    def on_card(self, memory: int) -> "ExpertSpec":
        """The entry with the batch sizes for a CUDA card with this many bytes of memory; 0 for a CPU."""
        # Drivers report up to a tenth less than a card's nominal memory.
        fitting = [least for least in self.batch_sizes if memory >= 0.9e9 * least]
        return replace(
            self,
            batch_size=self.batch_sizes[max(fitting)] if fitting else self.batch_size,
            uses=tuple(used.on_card(memory) for used in self.uses),
        )


class Expert(Protocol):
    """A loaded model. It sees only the inputs of its tool, never the task or the reference."""

    def run(self, batch: Sequence[Mapping[str, Value]]) -> list[Mapping[str, Value]]:
        """Run the model on a batch and return one mapping of named outputs for each item.

        Images of one batch have the same size, unless the expert's `ExpertSpec.resizes`. The result for an item must
        not depend on the other items. Extra outputs, which the tool does not declare, are stored in the record for
        inspection; plans cannot refer to them.

        Raises:
            InputError: the inputs of an item are incompatible; the message says what would be valid.
            ExpertError: the model cannot work on an item; the message says why.
        """
        ...


class SamplingExpert(Protocol):
    """A loaded model that draws random numbers, all of them from the seed of the item. Otherwise as `Expert`."""

    def run_seeded(self, *, batch: Sequence[Mapping[str, Value]], seeds: Sequence[int]) -> list[Mapping[str, Value]]:
        """Run the model on a batch and return one mapping of named outputs for each item.

        Equal inputs with an equal seed give an equal result, independent of the rest of the batch.

        Args:
            batch: the inputs of each item.
            seeds: one for each item, in [0, 2**63).

        Raises:
            ExpertError: the model cannot work on an item; the message says why.
        """
        ...


class ExpertError(Exception):
    """An expert failed on valid input: an `infra_fault`, never the planner's."""


class InputError(ExpertError):
    """The inputs of an item are incompatible, such as a mask and an image of different sizes: a planner fault."""


class ExpertFactory(Protocol):
    """Builds a loaded expert from its line in a profile."""

    def __call__(self, *, spec: ExpertSpec, device: str) -> Expert | SamplingExpert: ...
